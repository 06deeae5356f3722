//! Routes of a document that can be asked for what lies around them.

use std::collections::BTreeSet;
use std::ops::Bound;

use crate::yaml::{Route, Step};

/// A set of routes, sorted: what lies within a route follows it.
#[derive(Clone, Debug, Default)]
pub(super) struct RouteSet(BTreeSet<Vec<Step>>);

impl RouteSet {
    /// Adds a route.
    pub(super) fn insert(&mut self, route: &Route) {
        self.0.insert(route.steps().to_vec());
    }

    /// Tells whether a route of the set lies within `route`, or is that route.
    pub(super) fn has_within(&self, route: &Route) -> bool {
        let steps = route.steps();
        let from: (Bound<&[Step]>, Bound<&[Step]>) = (Bound::Included(steps), Bound::Unbounded);
        let mut after = self.0.range::<[Step], _>(from);
        after.next().is_some_and(|found| found.starts_with(steps))
    }

    /// Tells whether `route` and a route of the set are the same, or one lies within the other.
    pub(super) fn overlaps(&self, route: &Route) -> bool {
        let steps = route.steps();
        let is_within = |len| steps.get(..len).is_some_and(|part| self.0.contains(part));
        (0..=steps.len()).any(is_within) || self.has_within(route)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_overlap_along_one_way() {
        let mut set = RouteSet::default();
        set.insert(&Route::keys(&["spec", "a"]));
        set.insert(&Route::keys(&["spec", "ab", "c"]));
        for (keys, overlaps, within) in [
            (&["spec"][..], true, true),
            (&["spec", "a"], true, true),
            (&["spec", "a", "b"], true, false),
            (&["spec", "ab"], true, true),
            (&["spec", "abc"], false, false),
            (&["metadata"], false, false),
            (&[], true, true),
        ] {
            let route = Route::keys(keys);
            assert_eq!(set.overlaps(&route), overlaps, "{keys:?}");
            assert_eq!(set.has_within(&route), within, "{keys:?}");
        }
    }
}
