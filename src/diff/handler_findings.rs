//! What `check` reports about handlers, by the place of the handler.

use hashbrown::{HashMap, HashSet};

use crate::finding::{Finding, Severity};
use crate::predict::Outcome;
use crate::yaml::Span;

use super::probe_state::ProbeState;
use super::state::State;

/// The file and the byte range of the key of a handler.
type Place<'s> = (&'s str, Span);

/// What `check` reports about the handlers of a state.
#[derive(Debug)]
pub(super) struct HandlerFindings<'s> {
    /// The highest severity of the findings that the user has not suppressed.
    severities: HashMap<Place<'s>, Severity>,
    suppressed: HashSet<Place<'s>>,
    /// The findings of rules that are switched off and do not name the handler that they are about.
    switched_off: Vec<&'s Finding>,
}

impl<'s> HandlerFindings<'s> {
    pub(super) fn of(state: &'s State) -> Self {
        let mut severities: HashMap<Place<'s>, Severity> = HashMap::new();
        for finding in &state.findings {
            if let Some(place) = place(finding) {
                let known = severities.entry(place).or_insert(finding.severity);
                *known = finding.severity.max(*known);
            }
        }
        Self {
            severities,
            suppressed: state
                .suppressed
                .iter()
                .chain(&state.switched_off)
                .filter_map(place)
                .collect(),
            switched_off: state
                .switched_off
                .iter()
                .filter(|finding| finding.probe.is_none())
                .collect(),
        }
    }

    /// Returns whether the user has suppressed what `check` reports about a handler, or switched its rule off.
    pub(super) fn is_suppressed(&self, probe: &ProbeState) -> bool {
        let place = place_of(probe);
        if self.severities.contains_key(&place) {
            return false;
        }
        let is_switched_off = || {
            let mut findings = self.switched_off.iter();
            probe.outcome != Outcome::Refused && findings.any(|finding| is_about(finding, probe))
        };
        self.suppressed.contains(&place) || is_switched_off()
    }

    /// Returns the severity of the finding of `check` about a handler; `None` if no finding is about it alone.
    pub(super) fn severity(&self, probe: &ProbeState) -> Option<Severity> {
        self.severities.get(&place_of(probe)).copied()
    }
}

/// Returns whether a finding that does not name a handler is about the container of this one, or about its virtual machine.
fn is_about(finding: &Finding, probe: &ProbeState) -> bool {
    let is_object = finding
        .object
        .as_ref()
        .is_some_and(|object| (&object.kind, &object.name) == (&probe.id.kind, &probe.id.name));
    is_object
        && finding.primary.path == probe.place.path
        && finding.container.as_deref().unwrap_or_default() == probe.id.container
}

fn place(finding: &Finding) -> Option<Place<'_>> {
    let probe = finding.probe.as_ref()?;
    Some((&probe.path, probe.span))
}

fn place_of(probe: &ProbeState) -> Place<'_> {
    (&probe.place.path, probe.place.span)
}
