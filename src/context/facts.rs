//! Facts of one kind, which are asked for by namespace all the time.

use std::collections::HashMap;
use std::ops::Deref;

use super::scope::Forks;

/// Facts of one kind in the order of the inventory; as a slice, all of them.
#[derive(Debug)]
pub struct Facts<'t, T> {
    all: Vec<T>,
    /// The environment that each of them lies in; empty where it lies in none.
    environments: Vec<&'t str>,
    by_namespace: HashMap<&'t str, Vec<usize>>,
}

impl<T> Default for Facts<'_, T> {
    fn default() -> Self {
        Self {
            all: Vec::new(),
            environments: Vec::new(),
            by_namespace: HashMap::new(),
        }
    }
}

impl<'t, T> Facts<'t, T> {
    /// Adds a fact that stands in a namespace and lies in an environment.
    pub(super) fn push(&mut self, namespace: &'t str, environment: &'t str, fact: T) {
        let found = self.by_namespace.entry(namespace).or_default();
        found.push(self.all.len());
        self.all.push(fact);
        self.environments.push(environment);
    }

    /// Iterates over the facts that stand in namespaces of this name, whatever cluster they are for.
    pub(super) fn in_namespace<'s>(
        &'s self,
        name: &str,
    ) -> impl Iterator<Item = &'s T> + use<'s, 't, T> {
        let found = self.by_namespace.get(name).into_iter().flatten();
        found.filter_map(|&index| self.all.get(index))
    }

    /// The same without those of other environments than that of the file `home`, each with its
    /// number; not all that are left need be joined with it.
    pub(super) fn near<'s>(
        &'s self,
        name: &str,
        forks: &'s Forks,
        home: &'s str,
    ) -> impl Iterator<Item = (usize, &'s T)> {
        let found = self.by_namespace.get(name).into_iter().flatten();
        self.among(found.copied(), forks, home)
    }

    /// Iterates over the facts of all namespaces, without those of other environments.
    pub(super) fn all_near<'s>(
        &'s self,
        forks: &'s Forks,
        home: &'s str,
    ) -> impl Iterator<Item = &'s T> {
        let found = self.among(0..self.all.len(), forks, home);
        found.map(|(_, fact)| fact)
    }

    fn among<'s>(
        &'s self,
        indices: impl Iterator<Item = usize>,
        forks: &'s Forks,
        home: &'s str,
    ) -> impl Iterator<Item = (usize, &'s T)> {
        // Those of one environment mostly stand together.
        let mut last = ("", true);
        indices.filter_map(move |index| {
            let environment = self.environments.get(index)?;
            if *environment != last.0 {
                last = (environment, forks.join(environment, home));
            }
            let fact = self.all.get(index).filter(|_| last.1)?;
            Some((index, fact))
        })
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
