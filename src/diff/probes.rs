//! Compares the handlers of two states.

use meshprobe_mesh::finding::Severity;
use meshprobe_tree::source::SourceSet;

use super::cause::{Cause, Causes, NOT_FOUND};
use super::change::{Change, Subject};
use super::class::{Class, is_fault};
use super::comparison::Comparison;
use super::environments::{Environments, Relation};
use super::handler_findings::HandlerFindings;
use super::probe_pairs::pair_probes;
use super::probe_state::ProbeState;
use super::remaining::Remaining;
use super::side::Side;
use super::state::State;

/// Compares the handlers of two states, and adds the changes.
pub(super) fn compare_probes(
    before: (&State, &SourceSet),
    after: (&State, &SourceSet),
    causes: &mut Causes<'_>,
    comparison: &mut Comparison,
) {
    let (old, new) = (&before.0.probes, &after.0.probes);
    let pairing = pair_probes(old, new);
    let mut probes = Probes {
        findings: HandlerFindings::of(after.0, after.1),
        environments: Environments::new(before, after),
        remaining: None,
        has_other_files: !std::ptr::eq(before.1, after.1),
        after: new,
        causes,
        comparison,
    };
    for &(old_index, new_index) in &pairing.pairs {
        if let Some((old, new)) = old.get(old_index).zip(new.get(new_index)) {
            probes.compare(old, new);
        }
    }
    let removed = pairing.only_before().iter();
    for old in removed.filter_map(|index| old.get(*index)) {
        let cause = probes.causes.of_removed(old);
        probes.remove(old, cause);
    }
    let added = pairing.only_after().iter();
    for new in added.filter_map(|index| new.get(*index)) {
        let cause = is_fault(new.outcome).then(|| probes.causes.of_added(new));
        probes.add(new, cause);
    }
}

/// The comparison of the handlers of two states.
struct Probes<'c, 'a, 'l> {
    findings: HandlerFindings<'a>,
    environments: Environments<'a>,
    /// What environments deploy in the second state; computed for the first removed handler.
    remaining: Option<Remaining<'a>>,
    /// Whether the states have different files. A supposed fact changes how certain others are.
    has_other_files: bool,
    /// The handlers of the second state.
    after: &'a [ProbeState],
    causes: &'c mut Causes<'l>,
    comparison: &'c mut Comparison,
}

impl Probes<'_, '_, '_> {
    /// Compares a handler that both states have.
    fn compare(&mut self, old: &ProbeState, new: &ProbeState) {
        let relation = self.environments.relation(old, new);
        let is_less_certain = self.has_other_files && old.is_proven_unlike(new);
        let is_same = old.is_same_prediction(new) && !is_less_certain;
        let class = match is_same {
            true => Class::Changed,
            false => Class::of(old.outcome, new.outcome),
        };
        let is_regression = class == Class::Regression;
        let has_fault = is_fault(new.outcome);
        match relation {
            Relation::Left if !is_regression => {
                let cause = self.causes.of_environment(old, Side::Before);
                self.remove(old, cause);
            }
            Relation::Entered if has_fault && !is_regression => {
                let cause = self.causes.of_environment(new, Side::After);
                self.add(new, Some(cause));
            }
            Relation::Entered if !has_fault && !is_fault(old.outcome) => self.add(new, None),
            Relation::Moved if is_same => {
                let cause = self.causes.of_move(old, new);
                self.change((old, new), class, cause);
            }
            Relation::New if is_same && has_fault => {
                let cause = self.causes.of_environment(new, Side::After);
                self.change((old, new), class, cause);
            }
            _ if is_same => {
                self.comparison.unchanged += 1;
                self.comparison.unchanged_faults += usize::from(has_fault);
                let is_renamed = new.renamed_from(old).is_some();
                self.comparison.renamed += usize::from(is_renamed);
            }
            _ => {
                let cause = self.cause(old, new, relation);
                self.change((old, new), class, cause);
            }
        }
    }

    /// Returns the cause of a difference between two predictions. If the environment differs and no line of the facts does,
    /// it is the environment.
    fn cause(&mut self, old: &ProbeState, new: &ProbeState, relation: Relation) -> Cause {
        if let Some(cause) = self.causes.of(old, new) {
            return cause;
        }
        match relation {
            Relation::Same => Cause::without_line(NOT_FOUND),
            Relation::Left => self.causes.of_environment(old, Side::Before),
            Relation::Moved => self.causes.of_move(old, new),
            Relation::Entered | Relation::New => self.causes.of_environment(new, Side::After),
        }
    }

    /// Adds a change of a handler that both states have, unless the user has suppressed it.
    fn change(&mut self, (old, new): (&ProbeState, &ProbeState), class: Class, cause: Cause) {
        let is_worse = class == Class::Regression;
        if is_worse && self.findings.is_suppressed(new) {
            self.comparison.suppressed += 1;
            return;
        }
        // The settings can lower the severity of a rule.
        let class = match self.findings.severity(new) {
            Some(Severity::Note) if is_worse => Class::Changed,
            _ => class,
        };
        self.push(class, Some(old), Some(new), Some(cause));
    }

    /// Adds a handler that does not exist any more, or that its environment does not deploy any more.
    fn remove(&mut self, old: &ProbeState, cause: Cause) {
        let after = self.after;
        let remaining = self.remaining.get_or_insert_with(|| Remaining::of(after));
        let remains = remaining.describe(old, &mut self.environments);
        self.push(Class::Removed, Some(old), None, Some(cause));
        if let Some(change) = self.comparison.changes.last_mut() {
            change.remains = remains;
        }
    }

    /// Adds a handler that is new, or that an environment deploys now, if it has a fault that is not suppressed.
    fn add(&mut self, new: &ProbeState, cause: Option<Cause>) {
        if !is_fault(new.outcome) {
            self.comparison.added_without_fault += 1;
        } else if self.findings.is_suppressed(new) {
            self.comparison.suppressed += 1;
        } else {
            self.push(Class::Added, None, Some(new), cause);
        }
    }

    fn push(
        &mut self,
        class: Class,
        before: Option<&ProbeState>,
        after: Option<&ProbeState>,
        cause: Option<Cause>,
    ) {
        self.comparison.changes.push(Change {
            class,
            cause,
            remains: None,
            subject: Subject::Probe {
                before: before.cloned().map(Box::new),
                after: after.cloned().map(Box::new),
            },
        });
    }
}
