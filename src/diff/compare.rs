//! Compares two states.

use crate::finding::Severity;
use crate::source::SourceSet;

use super::cause::{Cause, Causes};
use super::change::{Change, Subject};
use super::class::{Class, is_fault};
use super::comparison::Comparison;
use super::findings::compare_findings;
use super::handler_findings::HandlerFindings;
use super::not_judged::{changed_not_judged, newly_not_judged};
use super::pairing::{Pairing, Repeated};
use super::probe_state::ProbeState;
use super::state::State;

/// Compares two states, each with its files.
#[must_use]
pub fn compare(before: (&State, &SourceSet), after: (&State, &SourceSet)) -> Comparison {
    let mut comparison = Comparison::default();
    let mut causes = Causes::new((&before.0.root, before.1), (&after.0.root, after.1));
    compare_probes(before.0, after, &mut causes, &mut comparison);
    compare_findings(before, after, &mut comparison);
    comparison.newly_not_judged = newly_not_judged(before.0, after.0);
    comparison.changed_not_judged = changed_not_judged(before, after, &comparison.newly_not_judged);
    comparison.changes.sort_by(|a, b| order(a).cmp(&order(b)));
    comparison
}

/// Names what the user supposes as the cause of all changes, because both states have the same files, and the source of
/// the behaviour behind each.
pub fn name_option(comparison: &mut Comparison, text: &str) {
    for change in &mut comparison.changes {
        let (before, after) = change.probe_states();
        let probe = after.or(before);
        change.cause = Some(Cause {
            source: probe.and_then(ProbeState::source),
            ..Cause::option(text)
        });
    }
}

/// Returns the fields by which changes are sorted.
fn order(change: &Change) -> impl Ord + '_ {
    let place = change.place().map(|place| (&place.path, place.span));
    let id = change.probe().map(|probe| &probe.id);
    let rule = change
        .finding()
        .map(|finding| (finding.rule, &finding.message));
    (change.class, place, id, rule)
}

fn compare_probes(
    before: &State,
    (after, files): (&State, &SourceSet),
    causes: &mut Causes<'_>,
    comparison: &mut Comparison,
) {
    let pairing = pair_probes(&before.probes, &after.probes);
    let findings = HandlerFindings::of(after, files);
    for &(old, new) in &pairing.pairs {
        let (Some(old), Some(new)) = (before.probes.get(old), after.probes.get(new)) else {
            continue;
        };
        if old.is_same_prediction(new) {
            comparison.unchanged += 1;
            comparison.unchanged_faults += usize::from(is_fault(new.outcome));
            comparison.renamed += usize::from(new.renamed_from(old).is_some());
            continue;
        }
        let class = Class::of(old.outcome, new.outcome);
        let is_worse = class == Class::Regression;
        if is_worse && findings.is_suppressed(new) {
            comparison.suppressed += 1;
            continue;
        }
        // The settings can lower the severity of a rule.
        let class = match findings.severity(new) {
            Some(Severity::Note) if is_worse => Class::Changed,
            _ => class,
        };
        comparison.changes.push(Change {
            class,
            cause: causes.of(old, new),
            subject: Subject::Probe {
                before: Some(Box::new(old.clone())),
                after: Some(Box::new(new.clone())),
            },
        });
    }
    let removed = pairing.only_before().iter();
    for old in removed.filter_map(|index| before.probes.get(*index)) {
        comparison.changes.push(Change {
            class: Class::Removed,
            cause: Some(causes.of_removed(old)),
            subject: Subject::Probe {
                before: Some(Box::new(old.clone())),
                after: None,
            },
        });
    }
    let added = pairing.only_after().iter();
    for new in added.filter_map(|index| after.probes.get(*index)) {
        if !is_fault(new.outcome) {
            comparison.added_without_fault += 1;
            continue;
        }
        if findings.is_suppressed(new) {
            comparison.suppressed += 1;
            continue;
        }
        comparison.changes.push(Change {
            class: Class::Added,
            cause: Some(causes.of_added(new)),
            subject: Subject::Probe {
                before: None,
                after: Some(Box::new(new.clone())),
            },
        });
    }
}

/// Pairs the handlers of both states: by their whole identity, then by what remains if a folder, a namespace, a
/// container or an object is renamed.
fn pair_probes<'p>(before: &'p [ProbeState], after: &'p [ProbeState]) -> Pairing {
    let mut pairing = Pairing::new(before.len(), after.len());
    pairing.by(before, after, Repeated::InOrder, |state| {
        Some((&state.id, &*state.file))
    });
    pairing.by(before, after, Repeated::InOrder, |state| Some(&state.id));
    pairing.by(before, after, Repeated::Never, |state| {
        let id = &state.id;
        Some((&id.kind, &id.namespace, &id.name, &id.container, id.slot))
    });
    // The folder above several environments.
    pairing.by(before, after, Repeated::Never, |state| {
        let id = &state.id;
        let object = (&id.kind, &id.namespace, &id.name);
        Some((&state.environment_name, object, &id.container, id.slot))
    });
    // The number of environments: the others are new or removed. An added or removed kustomization can change the
    // environment and the namespace together. Of several candidates, one with the same prediction comes first, so that
    // an old fault is not paired with a probe that works.
    let prediction = |state: &'p ProbeState| (state.outcome.as_str(), &*state.why);
    let in_file = |state: &'p ProbeState| {
        let id = &state.id;
        (&id.kind, &id.name, &*state.file, &id.container, id.slot)
    };
    let in_namespace = |state: &'p ProbeState| (in_file(state), &state.id.namespace);
    pairing.by(before, after, Repeated::InOrder, |state| {
        Some((in_namespace(state), prediction(state)))
    });
    pairing.by(before, after, Repeated::InOrder, |state| {
        Some(in_namespace(state))
    });
    pairing.by(before, after, Repeated::InOrder, |state| {
        Some((in_file(state), prediction(state)))
    });
    pairing.by(before, after, Repeated::InOrder, |state| {
        Some(in_file(state))
    });
    // A renamed container or object has the same handler. One with another handler replaces it.
    pairing.by(before, after, Repeated::Never, |state| {
        let id = &state.id;
        let object = (&id.environment, &id.kind, &id.namespace, &id.name);
        Some((object, id.slot, &state.written))
    });
    pairing.by(before, after, Repeated::Never, |state| {
        let id = &state.id;
        let object = (&id.environment, &id.kind, &*state.file);
        Some((object, &id.container, id.slot, &state.written))
    });
    pairing
}
