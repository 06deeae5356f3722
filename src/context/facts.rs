//! Facts of one kind, which are asked for by namespace all the time.

use std::ops::Deref;

use hashbrown::HashMap;

use crate::source::place::folder;

use super::scope::Forks;

/// Facts of one kind in the order of the inventory; as a slice, all of them.
#[derive(Debug)]
pub struct Facts<'t, T> {
    all: Vec<T>,
    places: Vec<Place<'t>>,
    by_namespace: HashMap<&'t str, Vec<usize>>,
}

/// Where a fact lies.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'t> {
    /// Its namespace, by which it is asked for.
    pub(super) namespace: &'t str,
    /// The environment that it lies in; empty where it lies in none.
    pub(super) environment: &'t str,
    pub(super) folder: &'t str,
}

impl<T> Default for Facts<'_, T> {
    fn default() -> Self {
        Self {
            all: Vec::new(),
            places: Vec::new(),
            by_namespace: HashMap::new(),
        }
    }
}

impl<'t, T> Facts<'t, T> {
    /// Adds a fact.
    pub(super) fn push(&mut self, place: Place<'t>, fact: T) {
        let found = self.by_namespace.entry(place.namespace).or_default();
        found.push(self.all.len());
        self.all.push(fact);
        self.places.push(place);
    }

    /// Iterates over the facts that stand in namespaces of this name, whatever cluster they are for.
    pub fn in_namespace<'s>(&'s self, name: &str) -> impl Iterator<Item = &'s T> + use<'s, 't, T> {
        let found = self.by_namespace.get(name).into_iter().flatten();
        found.filter_map(|&index| self.all.get(index))
    }

    /// The same without those that do not join what the file `home` says ([`Forks::join`]), each with
    /// its number.
    pub(super) fn near<'s>(
        &'s self,
        name: &str,
        forks: &'s Forks,
        home: &'s str,
    ) -> impl Iterator<Item = (usize, &'s T)> {
        let found = self.by_namespace.get(name).into_iter().flatten();
        self.among(found.copied(), forks, home)
    }

    /// Iterates over the facts of all namespaces that join what the file `home` says.
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
        let home = folder(home);
        // What lies side by side mostly stands together. Who is not in an environment joins all of
        // it, or nothing.
        let (mut environment, mut last) = (("", true), ("", forks.join_folders("", home)));
        indices.filter_map(move |index| {
            let place = self.places.get(index)?;
            if place.environment != environment.0 {
                let joins = forks.join_folders(place.environment, home);
                environment = (place.environment, joins);
            }
            if !environment.1 {
                return None;
            }
            if place.folder != last.0 {
                last = (place.folder, forks.join_folders(place.folder, home));
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
