//! Findings of `check` about handlers.

use hashbrown::{HashMap, HashSet};
use meshprobe_mesh::finding::{Finding, Severity};
use meshprobe_tree::source::SourceSet;
use meshprobe_yaml::Span;

use super::probe_state::ProbeState;
use super::state::State;

/// The file and the byte range of the key of a handler.
type Place<'s> = (&'s str, Span);

/// Findings that name no handler, by the file of their line.
type ByFile<'s> = HashMap<&'s str, Vec<&'s Finding>>;

/// The findings of `check` about the handlers of a state.
#[derive(Debug)]
pub(super) struct HandlerFindings<'s> {
    set: &'s SourceSet,
    /// The highest severity of the findings that the user has not suppressed.
    severities: HashMap<Place<'s>, Severity>,
    /// The findings that the user has not suppressed and that name no handler.
    of_pods: ByFile<'s>,
    /// The handlers of findings that the user has suppressed, or whose rule is switched off.
    suppressed: HashSet<Place<'s>>,
    /// Such findings that name no handler.
    suppressed_of_pods: ByFile<'s>,
}

impl<'s> HandlerFindings<'s> {
    /// Prepares the search in the findings of a state, given its files.
    pub(super) fn of(state: &'s State, set: &'s SourceSet) -> Self {
        let mut severities: HashMap<Place<'s>, Severity> = HashMap::new();
        for finding in &state.findings {
            if let Some(place) = place(finding) {
                let known = severities.entry(place).or_insert(finding.severity);
                *known = finding.severity.max(*known);
            }
        }
        let suppressed = || state.suppressed.iter().chain(&state.switched_off);
        Self {
            set,
            severities,
            of_pods: by_file(state.findings.iter()),
            suppressed: suppressed().filter_map(place).collect(),
            suppressed_of_pods: by_file(suppressed()),
        }
    }

    /// Returns whether the user has suppressed what `check` reports about a handler, or switched its rule off.
    pub(super) fn is_suppressed(&self, probe: &ProbeState) -> bool {
        if self.severity(probe).is_some() {
            return false;
        }
        let mut of_pod = of_pod(&self.suppressed_of_pods, probe, self.set);
        self.suppressed.contains(&place_of(probe)) || of_pod.next().is_some()
    }

    /// Returns the highest severity of the findings of `check` about a handler; `None` if there is none.
    pub(super) fn severity(&self, probe: &ProbeState) -> Option<Severity> {
        let own = self.severities.get(&place_of(probe)).copied();
        own.or_else(|| {
            let findings = of_pod(&self.of_pods, probe, self.set);
            findings.map(|finding| finding.severity).max()
        })
    }
}

/// Returns the findings that name no handler and are about the line that decides the fault of this one.
fn of_pod<'f>(
    findings: &'f ByFile<'f>,
    probe: &'f ProbeState,
    set: &'f SourceSet,
) -> impl Iterator<Item = &'f Finding> {
    let in_file = findings.get(&*probe.place.path).into_iter().flatten();
    in_file
        .copied()
        .filter(move |finding| probe.is_decided_at(finding, set))
}

fn by_file<'s>(findings: impl Iterator<Item = &'s Finding>) -> ByFile<'s> {
    let mut files = ByFile::new();
    for finding in findings.filter(|finding| finding.probe.is_none()) {
        files
            .entry(&finding.primary.path)
            .or_default()
            .push(finding);
    }
    files
}

fn place(finding: &Finding) -> Option<Place<'_>> {
    let probe = finding.probe.as_ref()?;
    Some((&probe.path, probe.span))
}

fn place_of(probe: &ProbeState) -> Place<'_> {
    (&probe.place.path, probe.place.span)
}
