//! What still contains a handler that an environment does not deploy any more.

use hashbrown::HashMap;
use meshprobe_mesh::finding::sentence_list;

use super::environments::Environments;
use super::probe_state::ProbeState;

/// What identifies a handler in all environments.
type Key<'p> = (&'p str, &'p str, &'p str, &'p str, &'p str);

fn key(probe: &ProbeState) -> Key<'_> {
    let id = &probe.id;
    (&id.kind, &id.name, &probe.file, &id.container, id.slot)
}

/// The handlers of the second state, in all environments.
#[derive(Debug)]
pub(super) struct Remaining<'p>(HashMap<Key<'p>, Vec<&'p ProbeState>>);

impl<'p> Remaining<'p> {
    /// Indexes the handlers of the second state.
    pub(super) fn of(probes: &'p [ProbeState]) -> Self {
        let mut found: HashMap<Key<'p>, Vec<&'p ProbeState>> = HashMap::new();
        for probe in probes {
            found.entry(key(probe)).or_default().push(probe);
        }
        Self(found)
    }

    /// Returns what still contains a handler of the first state that its environment does not deploy any more; `None` if
    /// nothing does.
    pub(super) fn describe(
        &self,
        old: &ProbeState,
        environments: &mut Environments<'_>,
    ) -> Option<String> {
        let found = self.0.get(&key(old))?;
        let deployed = found.iter().filter(|new| {
            let is_deployed = new.id.environment.is_some() || new.deployer.is_some();
            is_deployed && !environments.is_only_base(old, new)
        });
        let titles = deployed.filter_map(|new| new.environment_title());
        let mut titles: Vec<String> = titles.map(|title| format!("`{title}`")).collect();
        titles.sort_unstable();
        titles.dedup();
        Some(match titles.as_slice() {
            [] => "nothing deploys it now".to_owned(),
            [title] => format!("{title} deploys it"),
            titles => format!("{} deploy it", sentence_list(titles)),
        })
    }
}
