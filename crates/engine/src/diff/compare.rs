//! Compares two states.

use std::collections::BTreeSet;

use meshprobe_tree::source::SourceSet;

use super::cause::{Cause, Causes};
use super::change::{Change, Comparison};
use super::class::FailOn;
use super::findings::compare_findings;
use super::not_judged::{changed_not_judged, newly_not_judged};
use super::probe_state::ProbeState;
use super::probes::compare_probes;
use super::state::State;

/// Compares two states, each with its files. `others` are further files that differ, relative to the trees: charts may read
/// them.
#[must_use]
pub fn compare(
    before: (&State, &SourceSet),
    after: (&State, &SourceSet),
    others: &BTreeSet<String>,
) -> Comparison {
    let mut comparison = Comparison::default();
    let mut causes = Causes::new((&before.0.root, before.1), (&after.0.root, after.1));
    compare_probes(before, after, &mut causes, &mut comparison);
    compare_findings(before, after, &mut comparison);
    comparison.newly_not_judged = newly_not_judged(before.0, after.0);
    comparison.changed_not_judged =
        changed_not_judged(before, after, others, &comparison.newly_not_judged);
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

/// Adds the regressions that only overrides in the changed configuration `file` hide. `hidden` is the comparison without
/// them.
pub fn add_hidden(comparison: &mut Comparison, hidden: Comparison, file: &str) {
    let is_regression = |change: &Change| FailOn::REGRESSION.contains(&change.class);
    let is_same = |a: &Change, b: &Change| match (a.probe(), b.probe()) {
        (Some(a), Some(b)) => a.id == b.id,
        (None, None) => a.place() == b.place() && order(a) == order(b),
        _ => false,
    };
    for mut change in hidden.changes.into_iter().filter(is_regression) {
        let mut known = comparison.changes.iter();
        let known = known.position(|known| is_same(known, &change));
        match known.map(|at| (at, comparison.changes.get(at).is_some_and(is_regression))) {
            Some((_, true)) => continue,
            Some((at, false)) => drop(comparison.changes.remove(at)),
            None => match change.probe_states() {
                (Some(_), _) => comparison.unchanged = comparison.unchanged.saturating_sub(1),
                (None, Some(_)) => {
                    let added = &mut comparison.added_without_fault;
                    *added = added.saturating_sub(1);
                }
                (None, None) => {}
            },
        }
        change.cause = Some(Cause::hidden(change.cause.as_ref(), file));
        comparison.changes.push(change);
    }
    comparison.changes.sort_by(|a, b| order(a).cmp(&order(b)));
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
