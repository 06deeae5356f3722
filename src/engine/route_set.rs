//! Sets of routes, with queries for routes within and around another route.

use std::collections::BTreeSet;
use std::ops::Bound;

use meshprobe_yaml::{FieldPath, Step};

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
