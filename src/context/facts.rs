//! Facts of one kind, which are asked for by namespace all the time.

use std::collections::HashMap;
use std::ops::Deref;

/// Facts of one kind in the order of the inventory; as a slice, all of them.
#[derive(Debug)]
pub struct Facts<'t, T> {
    all: Vec<T>,
    by_namespace: HashMap<&'t str, Vec<usize>>,
}

impl<T> Default for Facts<'_, T> {
    fn default() -> Self {
        Self {
            all: Vec::new(),
            by_namespace: HashMap::new(),
        }
    }
}

impl<'t, T> Facts<'t, T> {
    /// Adds a fact that stands in `namespace`.
    pub(super) fn push(&mut self, namespace: &'t str, fact: T) {
        let found = self.by_namespace.entry(namespace).or_default();
        found.push(self.all.len());
        self.all.push(fact);
    }

    /// Iterates over the facts that stand in namespaces of this name, whatever cluster they are for.
    pub(super) fn in_namespace<'s>(
        &'s self,
        name: &str,
    ) -> impl Iterator<Item = &'s T> + use<'s, 't, T> {
        let found = self.by_namespace.get(name).into_iter().flatten();
        found.filter_map(|&index| self.all.get(index))
    }

    /// Returns the facts that stand in namespaces of one of these names, in their order.
    pub(super) fn in_either(&self, one: &str, other: &str) -> Vec<&T> {
        let names = [Some(one), (one != other).then_some(other)];
        let found = names.iter().flatten();
        let mut found: Vec<usize> = found
            .filter_map(|name| self.by_namespace.get(name))
            .flatten()
            .copied()
            .collect();
        found.sort_unstable();
        let found = found.into_iter();
        found.filter_map(|index| self.all.get(index)).collect()
    }
}

impl<T> Deref for Facts<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.all
    }
}

impl<'a, T> IntoIterator for &'a Facts<'_, T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.all.iter()
    }
}
