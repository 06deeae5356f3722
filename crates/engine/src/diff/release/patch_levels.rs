//! Names the patch level that a release without one represents, where predictions depend on it.

use meshprobe_mesh::finding::{names_and_more, sentence_list};
use meshprobe_mesh::mesh::{ReleaseChange, Version};
use meshprobe_predict::predict::Cause;

use super::super::probe_state::ProbeState;
use super::super::state::State;
use super::facts::FACTS;
use super::release_fact::{Effect, ReleaseFact};

/// The number of workloads that the note names.
const NAMED: usize = 3;

/// Returns a note about a release whose patch level is not known, if the prediction of a probe in `state` depends on it;
/// `None` otherwise.
#[must_use]
pub fn patch_level_note(state: &State, release: Version) -> Option<String> {
    let depends = |probe: &&ProbeState| {
        let mut because = probe.because.iter();
        because.any(|entry| entry.reason.settle == Some(ReleaseChange::SETTLE))
    };
    let probes: Vec<&ProbeState> = state.probes.iter().filter(depends).collect();
    let is_behind = |fact: &&ReleaseFact| {
        let mut causes = probes.iter().filter_map(|probe| probe.cause);
        causes.any(|cause| effect_on(cause).contains(&fact.effect))
    };
    let facts = FACTS.iter().filter(is_behind);
    let changes = facts.filter_map(|fact| Some((fact.open_patch(release)?, fact)));
    let mut changes: Vec<(u16, &ReleaseFact)> = changes.collect();
    changes.sort_by_key(|(patch, _)| *patch);
    let (last, _) = changes.last()?;
    let earlier = last.saturating_sub(1);
    let texts: Vec<String> = changes
        .iter()
        .map(|(patch, fact)| format!("since {release}.{patch}, {} ({})", fact.text, fact.source))
        .collect();
    let mut workloads: Vec<String> = probes.iter().map(|probe| probe.id.workload()).collect();
    workloads.sort_unstable();
    workloads.dedup();
    let named = match workloads.len() > NAMED {
        true => names_and_more(workloads.iter(), NAMED),
        false => sentence_list(&workloads),
    };
    let verb = if workloads.len() == 1 {
        "depends"
    } else {
        "depend"
    };
    Some(format!(
        "`{release}` represents the newest patch release of Istio {release}, on which {named} {verb}: {}; to compare an \
         earlier one, name it, such as `{release}.{earlier}`",
        sentence_list(&texts)
    ))
}

/// Returns the changes with patch releases that can be behind an outcome.
const fn effect_on(cause: Cause) -> &'static [Effect] {
    match cause {
        Cause::PodRefused => &[Effect::QuantitiesValidated],
        Cause::Ambient | Cause::OtherHost | Cause::NetworkPluginDrops => {
            &[Effect::OwnInterfacesInAmbient]
        }
        Cause::NoMesh => &[Effect::HostPodsExcludedFirst, Effect::HostPodsExcluded],
        Cause::Rewritten => &[Effect::HostHeaderDropped, Effect::HostHeaderKept],
        _ => &[],
    }
}
