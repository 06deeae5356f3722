//! Facts of one kind, which are asked for by namespace all the time.

use std::ops::Deref;

use hashbrown::HashMap;

use crate::kube::LabelSelector;
use crate::source::place::folder;
use crate::yaml::NodeRef;

use super::label_index::{AskedLabel, LabelIndex};
use super::scope::Forks;

/// Facts of one kind in the order of the inventory; as a slice, all of them.
#[derive(Debug)]
pub struct Facts<'t, T> {
    all: Vec<T>,
    places: Vec<Place<'t>>,
    by_namespace: HashMap<&'t str, Vec<usize>>,
    labels: LabelIndex<'t>,
}

/// Where a fact lies.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'t> {
    /// Its namespace, by which it is asked for.
    pub(super) namespace: &'t str,
    /// The widest environment that the way to it shows; empty where it shows none, or the working
    /// directory is one.
    pub(super) environment: &'t str,
    pub(super) folder: &'t str,
}

impl<T> Default for Facts<'_, T> {
    fn default() -> Self {
        Self {
            all: Vec::new(),
            places: Vec::new(),
            by_namespace: HashMap::new(),
            labels: LabelIndex::default(),
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

    /// Sorts the facts by the labels of pods that `asked` says each asks for, once all are there.
    pub(super) fn index_labels(&mut self, asked: impl Fn(&T) -> LabelSelector<'t>) {
        let facts = self.places.iter().zip(&self.all);
        let asked: Vec<_> = facts
            .map(|(place, fact)| (place.namespace, asked(fact).into_labels()))
            .collect();
        self.labels = LabelIndex::of(&asked);
    }

    /// Iterates over those of [`Facts::near`] that ask for labels, and may select pods with `labels` (a mapping).
    pub(super) fn near_selecting<'s>(
        &'s self,
        name: &str,
        labels: Option<NodeRef<'_>>,
        forks: &'s Forks,
        home: &'s str,
    ) -> impl Iterator<Item = (usize, &'s T)> + use<'s, 't, T> {
        let found = self.labels.selecting(name, labels);
        self.among(found.into_iter(), forks, home)
    }

    /// Returns what decides which facts in namespaces of this name select pods with `labels` (a mapping).
    pub(super) fn asked_labels(&self, name: &str, labels: Option<NodeRef<'_>>) -> Vec<AskedLabel> {
        self.labels.asked(name, labels)
    }

    /// Iterates over the facts in namespaces of this name that ask for no labels.
    pub(super) fn unselective_in<'s>(
        &'s self,
        name: &str,
    ) -> impl Iterator<Item = &'s T> + use<'s, 't, T> {
        let found = self.labels.unselective(name).iter();
        found.filter_map(|&index| self.all.get(index))
    }

    /// Returns the facts in namespaces of one of these names that may select pods with `labels`, in their order.
    pub(super) fn selecting_in_either(
        &self,
        one: &str,
        other: &str,
        labels: Option<NodeRef<'_>>,
    ) -> Vec<&T> {
        let mut found = Vec::new();
        for name in [Some(one), (one != other).then_some(other)]
            .into_iter()
            .flatten()
        {
            found.extend(self.labels.selecting(name, labels));
            found.extend(self.labels.unselective(name));
        }
        found.sort_unstable();
        let found = found.into_iter();
        found.filter_map(|index| self.all.get(index)).collect()
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
        // it, or nothing; without one each folder is asked for itself.
        let (mut environment, mut last) = (("", true), ("", forks.join_folders("", home)));
        indices.filter_map(move |index| {
            let place = self.places.get(index)?;
            if place.environment != environment.0 {
                let named = place.environment;
                let joins = named.is_empty() || forks.join_folders(named, home);
                environment = (named, joins);
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::kube::Object;
    use crate::source::SourceSet;

    /// Paths around a working directory.
    fn paths() -> impl Strategy<Value = BTreeSet<String>> {
        let path = ("(\\.\\./){0,2}", "([a-c]/){0,3}", "[xyz]");
        let path = path.prop_map(|(up, down, name)| format!("{up}{down}{name}.yaml"));
        prop::collection::btree_set(path, 1..12)
    }

    proptest! {
        #[test]
        fn what_is_near_is_what_joins(paths in paths(), order in any::<prop::sample::Index>()) {
            let files = paths.iter().map(|path| {
                let name = path.rsplit('/').next().unwrap();
                let text = format!("apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\n");
                crate::source::SourceFile::new(path.as_str().into(), text.as_str().into())
            });
            let set = SourceSet::new(files.collect());
            let documents = set.files.iter().flat_map(|file| &file.documents);
            let objects: Vec<Object<'_>> = documents.flat_map(Object::all_in).collect();
            let forks = Forks::of(objects.iter());
            let mut listed: Vec<&String> = paths.iter().collect();
            listed.rotate_left(order.index(paths.len()));
            let mut facts: Facts<'_, &str> = Facts::default();
            for path in &listed {
                let place = Place {
                    namespace: "shop",
                    environment: forks.environment(path),
                    folder: folder(path),
                };
                facts.push(place, path.as_str());
            }
            for home in &paths {
                let near: Vec<&str> = facts.near("shop", &forks, home).map(|(_, path)| *path).collect();
                let joined: Vec<&str> =
                    listed.iter().map(|path| path.as_str()).filter(|path| forks.join(path, home)).collect();
                prop_assert_eq!(&near, &joined, "{}", home);
                let all: Vec<&str> = facts.all_near(&forks, home).copied().collect();
                prop_assert_eq!(&all, &joined, "{}", home);
            }
        }
    }
}
