//! Facts of one kind, indexed by namespace.

use std::ops::Deref;

use hashbrown::HashMap;
use meshprobe_mesh::kube::LabelSelector;
use meshprobe_tree::source::paths::folder;
use meshprobe_yaml::NodeRef;

use super::environments::Environments;

/// Facts of one kind, in the order of the inventory. Dereferences to a slice of all facts.
#[derive(Debug)]
pub struct NamespaceIndex<'t, T> {
    all: Vec<T>,
    places: Vec<Place<'t>>,
    by_namespace: HashMap<&'t str, Vec<usize>>,
    /// The labels that the selector of each fact requires.
    selectors: Vec<Vec<(&'t str, &'t str)>>,
}

/// Whether a search includes facts without a label selector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unselective {
    Included,
    LeftOut,
}

/// Where a fact belongs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'t> {
    /// Its namespace, the key of the index.
    pub(super) namespace: &'t str,
    /// The outermost environment on the path to it; empty if there is none, or if the working
    /// directory is one.
    pub(super) environment: &'t str,
    pub(super) folder: &'t str,
}

impl<T> Default for NamespaceIndex<'_, T> {
    fn default() -> Self {
        Self {
            all: Vec::new(),
            places: Vec::new(),
            by_namespace: HashMap::new(),
            selectors: Vec::new(),
        }
    }
}

impl<'t, T> NamespaceIndex<'t, T> {
    /// Adds a fact.
    pub(super) fn push(&mut self, place: Place<'t>, fact: T) {
        let found = self.by_namespace.entry(place.namespace).or_default();
        found.push(self.all.len());
        self.all.push(fact);
        self.places.push(place);
    }

    /// Indexes the facts by label selector, which `asked` returns for a fact. Call it after the last
    /// `push`.
    pub(super) fn index_labels(&mut self, asked: impl Fn(&T) -> LabelSelector<'t>) {
        let selectors = self.all.iter().map(|fact| asked(fact).into_labels());
        self.selectors = selectors.collect();
    }

    /// Returns whether a fact has no label selector.
    fn is_unselective(&self, index: usize) -> bool {
        self.selectors.get(index).is_none_or(Vec::is_empty)
    }

    /// Returns whether the label selector of a fact may select pods with `labels`.
    fn selects(&self, index: usize, labels: &[(&str, &str)]) -> bool {
        let required = self.selectors.get(index);
        required.is_none_or(|required| required.iter().all(|pair| labels.contains(pair)))
    }

    /// Iterates over the facts of [`NamespaceIndex::near`] whose label selector may select pods with `labels` (a mapping),
    /// and, if wanted, those without a label selector.
    pub(super) fn near_selecting<'s>(
        &'s self,
        name: &str,
        (labels, unselective): (Option<NodeRef<'_>>, Unselective),
        environments: &'s Environments,
        home: &'s str,
    ) -> impl Iterator<Item = (usize, &'s T)> + use<'s, 't, T> {
        let labels = pairs(labels);
        let is_wanted = |&index: &usize| match self.is_unselective(index) {
            true => unselective == Unselective::Included,
            false => self.selects(index, &labels),
        };
        let all = self.by_namespace.get(name).into_iter().flatten().copied();
        let found: Vec<usize> = all.filter(is_wanted).collect();
        self.filter_joined(found.into_iter(), environments, home)
    }

    /// Iterates over the facts of a namespace that have no label selector.
    pub(super) fn unselective_in<'s>(
        &'s self,
        name: &str,
    ) -> impl Iterator<Item = &'s T> + use<'s, 't, T> {
        let all = self.by_namespace.get(name).into_iter().flatten();
        all.filter(|&&index| self.is_unselective(index))
            .filter_map(|&index| self.all.get(index))
    }

    /// Returns the facts of two namespaces that may select pods with `labels`, in their order.
    pub(super) fn selecting_in_either(
        &self,
        one: &str,
        other: &str,
        labels: Option<NodeRef<'_>>,
    ) -> Vec<&T> {
        let labels = pairs(labels);
        let names = [Some(one), (one != other).then_some(other)];
        let all = names
            .into_iter()
            .flatten()
            .filter_map(|name| self.by_namespace.get(name))
            .flatten()
            .copied();
        let mut found: Vec<usize> = all.filter(|&index| self.selects(index, &labels)).collect();
        found.sort_unstable();
        found
            .into_iter()
            .filter_map(|index| self.all.get(index))
            .collect()
    }

    /// Iterates over the facts in namespaces of this name, of all environments.
    pub fn in_namespace<'s>(&'s self, name: &str) -> impl Iterator<Item = &'s T> + use<'s, 't, T> {
        self.by_namespace
            .get(name)
            .into_iter()
            .flatten()
            .filter_map(|&index| self.all.get(index))
    }

    /// Iterates over the facts in namespaces of this name that may apply to the file `home`
    /// ([`Environments::may_apply`]), each with its position.
    pub(super) fn near<'s>(
        &'s self,
        name: &str,
        environments: &'s Environments,
        home: &'s str,
    ) -> impl Iterator<Item = (usize, &'s T)> {
        let found = self.by_namespace.get(name).into_iter().flatten();
        self.filter_joined(found.copied(), environments, home)
    }

    /// Iterates over the facts of all namespaces that may apply to the file `home` ([`Environments::may_apply`]).
    pub(super) fn all_near<'s>(
        &'s self,
        environments: &'s Environments,
        home: &'s str,
    ) -> impl Iterator<Item = &'s T> {
        let found = self.filter_joined(0..self.all.len(), environments, home);
        found.map(|(_, fact)| fact)
    }

    fn filter_joined<'s>(
        &'s self,
        indices: impl Iterator<Item = usize>,
        environments: &'s Environments,
        home: &'s str,
    ) -> impl Iterator<Item = (usize, &'s T)> {
        let home = folder(home);
        // Facts of one folder are mostly consecutive, so the last result is kept. A file outside of an
        // environment joins all of it or nothing; outside of environments, each folder is checked.
        let (mut environment, mut last) =
            (("", true), ("", environments.folder_may_apply("", home)));
        indices.filter_map(move |index| {
            let place = self.places.get(index)?;
            if place.environment != environment.0 {
                let named = place.environment;
                let joins = named.is_empty() || environments.folder_may_apply(named, home);
                environment = (named, joins);
            }
            if !environment.1 {
                return None;
            }
            if place.folder != last.0 {
                last = (
                    place.folder,
                    environments.folder_may_apply(place.folder, home),
                );
            }
            let fact = self.all.get(index).filter(|_| last.1)?;
            Some((index, fact))
        })
    }
}

impl<T> Deref for NamespaceIndex<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.all
    }
}

impl<'a, T> IntoIterator for &'a NamespaceIndex<'_, T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.all.iter()
    }
}

/// Returns the labels of a pod (a mapping) as pairs.
fn pairs(labels: Option<NodeRef<'_>>) -> Vec<(&str, &str)> {
    let entries = labels.into_iter().flat_map(NodeRef::effective_entries);
    entries
        .filter_map(|entry| Some((entry.key.text()?, entry.value.text()?)))
        .collect()
}
