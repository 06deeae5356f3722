//! Compares two states.

use crate::context::NotJudged;
use crate::finding::{Finding, Severity};
use crate::source::SourceSet;

use super::cause::{Cause, Causes};
use super::change::{Change, Subject};
use super::class::{Class, is_fault};
use super::finding_key::{FindingEntry, entries};
use super::pairing::{Pairing, Repeated};
use super::probe_state::ProbeState;
use super::state::{State, relative};

/// What differs between two states.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    /// The changes, sorted by class and place.
    pub changes: Vec<Change>,
    /// The number of handlers with the same prediction in both states.
    pub unchanged: usize,
    /// The number of these handlers with a fault.
    pub unchanged_faults: usize,
    /// The number of findings that both states have and that are not about a handler.
    pub unchanged_findings: usize,
    /// The number of handlers that get worse, or are new with a fault, and whose findings the user has suppressed.
    pub suppressed: usize,
    /// The number of new handlers without a fault.
    pub added_without_fault: usize,
    /// What is not judged in the second state and was judged, or did not exist, in the first.
    pub newly_not_judged: Vec<NotJudged>,
}

/// Compares two states, each with its files.
#[must_use]
pub fn compare(before: (&State, &SourceSet), after: (&State, &SourceSet)) -> Comparison {
    let mut comparison = Comparison::default();
    let mut causes = Causes::new((&before.0.root, before.1), (&after.0.root, after.1));
    compare_probes(before.0, after.0, &mut causes, &mut comparison);
    compare_findings(before.0, after.0, &mut comparison);
    comparison.newly_not_judged = newly_not_judged(before.0, after.0);
    comparison.changes.sort_by(|a, b| order(a).cmp(&order(b)));
    comparison
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
    after: &State,
    causes: &mut Causes<'_>,
    comparison: &mut Comparison,
) {
    let pairing = pair_probes(&before.probes, &after.probes);
    for &(old, new) in &pairing.pairs {
        let (Some(old), Some(new)) = (before.probes.get(old), after.probes.get(new)) else {
            continue;
        };
        if old.is_same_prediction(new) {
            comparison.unchanged += 1;
            comparison.unchanged_faults += usize::from(is_fault(new.outcome));
            continue;
        }
        let class = Class::of(old.outcome, new.outcome);
        if class == Class::Regression && after.is_suppressed(new) {
            comparison.suppressed += 1;
            continue;
        }
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
            cause: None,
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
        if after.is_suppressed(new) {
            comparison.suppressed += 1;
            continue;
        }
        comparison.changes.push(Change {
            class: Class::Added,
            cause: None,
            subject: Subject::Probe {
                before: None,
                after: Some(Box::new(new.clone())),
            },
        });
    }
}

/// Pairs the handlers of both states: by their whole identity, then by what remains if a folder, a namespace, a container or
/// an object is renamed.
fn pair_probes(before: &[ProbeState], after: &[ProbeState]) -> Pairing {
    let mut pairing = Pairing::new(before.len(), after.len());
    pair_by(&mut pairing, before, after, Repeated::InOrder, |state| {
        (&state.id, &*state.file)
    });
    pair_by(&mut pairing, before, after, Repeated::InOrder, |state| {
        &state.id
    });
    pair_by(&mut pairing, before, after, Repeated::Never, |state| {
        let id = &state.id;
        (&id.kind, &id.namespace, &id.name, &id.container, id.slot)
    });
    pair_by(&mut pairing, before, after, Repeated::Never, |state| {
        let id = &state.id;
        let object = (&id.kind, &id.name, &*state.file);
        (&id.environment, object, &id.container, id.slot)
    });
    pair_by(&mut pairing, before, after, Repeated::Never, |state| {
        let id = &state.id;
        (&id.environment, &id.kind, &id.namespace, &id.name, id.slot)
    });
    pair_by(&mut pairing, before, after, Repeated::Never, |state| {
        let id = &state.id;
        let object = (&id.kind, &*state.file);
        (&id.environment, object, &id.container, id.slot)
    });
    pairing
}

fn pair_by<'s, K: std::hash::Hash + Eq>(
    pairing: &mut Pairing,
    before: &'s [ProbeState],
    after: &'s [ProbeState],
    repeated: Repeated,
    key: impl Fn(&'s ProbeState) -> K,
) {
    let key_of = |states: &'s [ProbeState], index: usize| states.get(index).map(&key);
    pairing.by(
        |index| key_of(before, index),
        |index| key_of(after, index),
        repeated,
    );
}

fn compare_findings(before: &State, after: &State, comparison: &mut Comparison) {
    let old = entries(&before.findings, &before.root);
    let new = entries(&after.findings, &after.root);
    let pairing = pair_findings(&old, &new);
    comparison.unchanged_findings = pairing.pairs.len();
    let only = |entries: &[FindingEntry<'_>], indexes: &[usize]| -> Vec<Finding> {
        let mut found: Vec<&Finding> = Vec::new();
        for entry in indexes.iter().filter_map(|index| entries.get(*index)) {
            // A finding in several environments is one change.
            if !found
                .iter()
                .any(|known| std::ptr::eq(*known, entry.finding))
            {
                found.push(entry.finding);
            }
        }
        found.into_iter().cloned().collect()
    };
    let gone = only(&old, pairing.only_before()).into_iter();
    comparison.changes.extend(gone.map(|finding| Change {
        class: match finding.severity {
            Severity::Note => Class::Changed,
            Severity::Warning | Severity::Error => Class::Improvement,
        },
        cause: None,
        subject: Subject::GoneFinding(Box::new(finding)),
    }));
    let found = only(&new, pairing.only_after()).into_iter();
    comparison.changes.extend(found.map(|finding| Change {
        class: match finding.severity {
            Severity::Note => Class::Changed,
            Severity::Warning | Severity::Error => Class::Regression,
        },
        cause: finding_cause(&finding),
        subject: Subject::NewFinding(Box::new(finding)),
    }));
}

/// Returns the line that a new finding is about.
fn finding_cause(finding: &Finding) -> Option<Cause> {
    let place = finding.primary.clone();
    Some(Cause {
        message: place.message.clone(),
        place: Some(place),
        side: super::cause::Side::After,
        is_option: false,
    })
}

fn pair_findings(before: &[FindingEntry<'_>], after: &[FindingEntry<'_>]) -> Pairing {
    let mut pairing = Pairing::new(before.len(), after.len());
    let file = |entries: &[FindingEntry<'_>], index: usize| {
        let entry = entries.get(index)?;
        Some((
            entry.key.clone(),
            entry.file.clone(),
            entry.finding.message.clone(),
        ))
    };
    pairing.by(
        |index| file(before, index),
        |index| file(after, index),
        Repeated::InOrder,
    );
    let same_file = |entries: &[FindingEntry<'_>], index: usize| {
        let entry = entries.get(index)?;
        Some((entry.key.clone(), entry.file.clone()))
    };
    pairing.by(
        |index| same_file(before, index),
        |index| same_file(after, index),
        Repeated::InOrder,
    );
    let object = |entries: &[FindingEntry<'_>], index: usize| {
        let entry = entries.get(index)?;
        entry.key.has_object().then(|| entry.key.clone())
    };
    pairing.by(
        |index| object(before, index),
        |index| object(after, index),
        Repeated::InOrder,
    );
    // A renamed file or a renamed folder of an environment.
    let message = |entries: &[FindingEntry<'_>], index: usize| {
        let entry = entries.get(index)?;
        let name = entry.file.rsplit('/').next().unwrap_or_default().to_owned();
        Some((entry.key.without_overlay(), name))
    };
    pairing.by(
        |index| message(before, index),
        |index| message(after, index),
        Repeated::Never,
    );
    pairing
}

fn newly_not_judged(before: &State, after: &State) -> Vec<NotJudged> {
    let (old, new) = (&before.not_judged, &after.not_judged);
    let mut pairing = Pairing::new(old.len(), new.len());
    let key = |state: &State, index: usize| {
        let entry = state.not_judged.get(index)?;
        let path = relative(&entry.place.path, &state.root);
        Some((entry.reason, path, entry.place.message.clone()))
    };
    pairing.by(
        |index| key(before, index),
        |index| key(after, index),
        Repeated::InOrder,
    );
    let hint = |state: &State, index: usize| {
        let entry = state.not_judged.get(index)?;
        Some((entry.reason, entry.place.message.clone()))
    };
    pairing.by(
        |index| hint(before, index),
        |index| hint(after, index),
        Repeated::InOrder,
    );
    let found = pairing.only_after().iter();
    found.filter_map(|index| new.get(*index)).cloned().collect()
}
