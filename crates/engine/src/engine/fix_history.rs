//! Remembers what the fixes of a run must not undo: values that they wrote, and suppressed values.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use meshprobe_mesh::finding::{Applicability, Finding, Fix, ObjectRef, RuleId};
use meshprobe_rules::rules::notices::UNUSED_SUPPRESSION;
use meshprobe_yaml::{Change, FieldPath, Step};

use super::outcome::Outcome;

/// The identity of a finding, independent of its position.
pub(super) type Key = (
    Arc<str>,
    usize,
    RuleId,
    Option<ObjectRef>,
    Option<String>,
    Option<String>,
);

/// Returns the identity of a finding, which is the same in every round.
pub(super) fn key(finding: &Finding) -> Key {
    (
        Arc::clone(&finding.primary.path),
        finding.document,
        finding.rule,
        finding.object.clone(),
        finding.container.clone(),
        finding.field.clone(),
    )
}

/// The findings at the start of a run, and the values that its fixes wrote.
#[derive(Debug)]
pub(super) struct FixHistory {
    known: BTreeSet<Key>,
    /// Suppressions that suppressed nothing at the start, by file and message, with their number.
    idle: BTreeMap<(Arc<str>, String), usize>,
    written: BTreeMap<(Arc<str>, usize), RouteSet>,
}

impl FixHistory {
    /// Creates the record from the findings before the first fix.
    pub(super) fn new(first: &Outcome) -> Self {
        Self {
            known: first.findings.iter().map(key).collect(),
            idle: idle(first),
            written: BTreeMap::new(),
        }
    }

    /// Returns the findings of a round whose fixes may be applied. The fix of a finding that an earlier fix revealed must
    /// not change values that fixes wrote. A suppression that suppressed a finding at the start is kept.
    pub(super) fn admitted<'f>(&self, outcome: &'f Outcome) -> Vec<&'f Finding> {
        let now = idle(outcome);
        outcome
            .findings
            .iter()
            .filter(|finding| {
                if finding.rule == UNUSED_SUPPRESSION {
                    let name = name(finding);
                    return now.get(&name) <= self.idle.get(&name);
                }
                self.known.contains(&key(finding)) || !self.rewrites(finding.fix.as_ref())
            })
            .collect()
    }

    fn rewrites(&self, fix: Option<&Fix>) -> bool {
        let Some(fix) = fix else { return false };
        let written = self.written.get(&(Arc::clone(&fix.path), fix.document));
        let mut routes = fix.changes.iter().map(Change::route);
        written.is_some_and(|written| routes.any(|route| written.has_within(route)))
    }

    /// Records the values that fixes write.
    pub(super) fn note(&mut self, fixes: &[&Fix]) {
        for fix in fixes {
            let key = (Arc::clone(&fix.path), fix.document);
            let known = self.written.entry(key).or_default();
            for route in fix.changes.iter().filter_map(written) {
                known.insert(&route);
            }
        }
    }
}

/// Returns the route of the value that a change writes; `None` for other changes.
fn written(change: &Change) -> Option<FieldPath> {
    match change {
        Change::Set { route, .. } => Some(route.clone()),
        Change::Replace { route, key, .. } => {
            let (parent, _) = route.split_last()?;
            Some(parent.child(key.clone()))
        }
        Change::Push { .. } | Change::Remove { .. } => None,
    }
}

fn name(finding: &Finding) -> (Arc<str>, String) {
    (Arc::clone(&finding.primary.path), finding.message.clone())
}

fn idle(outcome: &Outcome) -> BTreeMap<(Arc<str>, String), usize> {
    let mut counted = BTreeMap::new();
    let findings = outcome.findings.iter();
    for finding in findings.filter(|finding| finding.rule == UNUSED_SUPPRESSION) {
        *counted.entry(name(finding)).or_default() += 1;
    }
    counted
}

/// Makes a fix unsafe if it changes the same value as the fix of a suppressed finding, because the user has decided to keep
/// that value.
pub(super) fn keep_suppressed_values(suppressed: &[Finding], findings: &mut [Finding]) {
    let mut decided: BTreeMap<(Arc<str>, usize), RouteSet> = BTreeMap::new();
    for fix in suppressed.iter().filter_map(|finding| finding.fix.as_ref()) {
        let key = (Arc::clone(&fix.path), fix.document);
        let routes = decided.entry(key).or_default();
        for change in &fix.changes {
            routes.insert(change.route());
        }
    }
    for finding in findings {
        let Some(fix) = finding.fix.as_mut() else {
            continue;
        };
        if !fix.applicability.is_safe() {
            continue;
        }
        let decided = decided.get(&(Arc::clone(&fix.path), fix.document));
        let mut routes = fix.changes.iter().map(Change::route);
        if decided.is_some_and(|decided| routes.any(|route| decided.overlaps(route))) {
            fix.limit_to(Applicability::unsafe_because(
                "a suppressed finding is about the same setting, which you decided to keep",
            ));
        }
    }
}

/// A sorted set of routes: the routes within a route follow it.
#[derive(Clone, Debug, Default)]
pub(super) struct RouteSet(BTreeSet<Vec<Step>>);

impl RouteSet {
    /// Adds a route.
    pub(super) fn insert(&mut self, route: &FieldPath) {
        self.0.insert(route.steps().to_vec());
    }

    /// Returns whether the set contains `route` or a route within it.
    pub(super) fn has_within(&self, route: &FieldPath) -> bool {
        let steps = route.steps();
        let from: (Bound<&[Step]>, Bound<&[Step]>) = (Bound::Included(steps), Bound::Unbounded);
        let next = self.0.range::<[Step], _>(from).next();
        next.is_some_and(|found| found.starts_with(steps))
    }

    /// Returns whether the set contains `route`, a route within it, or a route around it.
    pub(super) fn overlaps(&self, route: &FieldPath) -> bool {
        let steps = route.steps();
        let is_within = |len| steps.get(..len).is_some_and(|part| self.0.contains(part));
        (0..=steps.len()).any(is_within) || self.has_within(route)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_route_overlaps_with_routes_within_and_around_it() {
        let mut set = RouteSet::default();
        set.insert(&FieldPath::keys(&["spec", "a"]));
        set.insert(&FieldPath::keys(&["spec", "ab", "c"]));
        for (keys, overlaps, within) in [
            (&["spec"][..], true, true),
            (&["spec", "a"], true, true),
            (&["spec", "a", "b"], true, false),
            (&["spec", "ab"], true, true),
            (&["spec", "abc"], false, false),
            (&["metadata"], false, false),
            (&[], true, true),
        ] {
            let route = FieldPath::keys(keys);
            assert_eq!(set.overlaps(&route), overlaps, "{keys:?}");
            assert_eq!(set.has_within(&route), within, "{keys:?}");
        }
    }
}
