//! Facts of one kind, indexed by namespace and by label selector.

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
    labels: LabelIndex<'t>,
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
            labels: LabelIndex::default(),
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
        let asked: Vec<_> = self
            .places
            .iter()
            .zip(&self.all)
            .map(|(place, fact)| (place.namespace, asked(fact).into_labels()))
            .collect();
        self.labels = LabelIndex::of(&asked);
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
        let mut found = self.labels.selecting(name, labels);
        if unselective == Unselective::Included {
            found.extend(self.labels.unselective(name));
            found.sort_unstable();
        }
        self.filter_joined(found.into_iter(), environments, home)
    }

    /// Returns those of `labels` (a mapping) that decide which facts of a namespace select a pod.
    pub(super) fn selector_labels(
        &self,
        name: &str,
        labels: Option<NodeRef<'_>>,
    ) -> Vec<SelectorLabel> {
        self.labels.selector_labels(name, labels)
    }

    /// Iterates over the facts of a namespace that have no label selector.
    pub(super) fn unselective_in<'s>(
        &'s self,
        name: &str,
    ) -> impl Iterator<Item = &'s T> + use<'s, 't, T> {
        self.labels
            .unselective(name)
            .iter()
            .filter_map(|&index| self.all.get(index))
    }

    /// Returns the facts of two namespaces that may select pods with `labels`, in their order.
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

/// The key and the value of a label.
type Pair<'t> = (&'t str, &'t str);

/// A label of a pod whose key a selector names: the numbers of its key and value. A value that no
/// selector names has no number, because all such values are equivalent.
pub(super) type SelectorLabel = (usize, Option<usize>);

/// The selectors of facts by namespace.
#[derive(Debug, Default)]
pub(crate) struct LabelIndex<'t> {
    /// The label keys that selectors of a namespace name, numbered.
    keys: HashMap<(&'t str, &'t str), usize>,
    /// The labels that selectors of a namespace require, numbered.
    pairs: HashMap<(&'t str, Pair<'t>), usize>,
    /// The facts of a namespace that select pods, each with the numbers of the labels that it requires.
    selectors: HashMap<&'t str, Vec<(usize, Vec<usize>)>>,
    unselective: HashMap<&'t str, Vec<usize>>,
}

impl<'t> LabelIndex<'t> {
    /// Indexes facts, given in their order: the namespace of each, and the labels that it requires.
    pub(crate) fn of(facts: &[(&'t str, Vec<Pair<'t>>)]) -> Self {
        let mut index = Self::default();
        for (at, (namespace, labels)) in facts.iter().enumerate() {
            let number = |label: &Pair<'t>| {
                let next = index.keys.len();
                index.keys.entry((*namespace, label.0)).or_insert(next);
                let next = index.pairs.len();
                *index.pairs.entry((*namespace, *label)).or_insert(next)
            };
            let numbers: Vec<usize> = labels.iter().map(number).collect();
            match numbers.is_empty() {
                true => index.unselective.entry(*namespace).or_default().push(at),
                false => {
                    let selectors = index.selectors.entry(*namespace).or_default();
                    selectors.push((at, numbers));
                }
            }
        }
        index
    }

    /// Returns the facts of a namespace that select pods with these labels (a mapping), in their order,
    /// without facts that have no label selector.
    pub(crate) fn selecting(&self, namespace: &str, labels: Option<NodeRef<'_>>) -> Vec<usize> {
        let Some(selectors) = self.selectors.get(namespace) else {
            return Vec::new();
        };
        let numbers: Vec<usize> = labels
            .into_iter()
            .flat_map(NodeRef::effective_entries)
            .filter_map(|entry| {
                let pair = (entry.key.text()?, entry.value.text()?);
                self.pairs.get(&(namespace, pair)).copied()
            })
            .collect();
        let selects = |required: &[usize]| required.iter().all(|number| numbers.contains(number));
        let found = selectors.iter().filter(|(_, required)| selects(required));
        found.map(|(at, _)| *at).collect()
    }

    /// Returns those of `labels` (a mapping) that decide which facts of a namespace select a pod, in their
    /// order. If they are equal for two pods, the same facts select both.
    pub(super) fn selector_labels(
        &self,
        namespace: &str,
        labels: Option<NodeRef<'_>>,
    ) -> Vec<SelectorLabel> {
        if self.keys.is_empty() {
            return Vec::new();
        }
        labels
            .into_iter()
            .flat_map(NodeRef::effective_entries)
            .filter_map(|entry| {
                let key = entry.key.text()?;
                let number = *self.keys.get(&(namespace, key))?;
                let value = entry.value.text();
                let value = value.and_then(|value| self.pairs.get(&(namespace, (key, value))));
                Some((number, value.copied()))
            })
            .collect()
    }

    /// Returns the facts of a namespace that have no label selector, in their order.
    pub(super) fn unselective(&self, namespace: &str) -> &[usize] {
        self.unselective.get(namespace).map_or(&[], Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use meshprobe_mesh::kube::Object;
    use meshprobe_tree::source::SourceSet;
    use meshprobe_yaml::{Span, parse};
    use proptest::prelude::*;

    use super::*;

    /// Paths around a working directory.
    fn paths() -> impl Strategy<Value = BTreeSet<String>> {
        let path = ("(\\.\\./){0,2}", "([a-c]/){0,3}", "[xyz]");
        let path = path.prop_map(|(up, down, name)| format!("{up}{down}{name}.yaml"));
        prop::collection::btree_set(path, 1..12)
    }

    proptest! {
        #[test]
        fn facts_are_near_exactly_if_their_files_join(paths in paths(), order in any::<prop::sample::Index>()) {
            let files = paths.iter().map(|path| {
                let name = path.rsplit('/').next().unwrap();
                let text = format!("apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}}}\n");
                meshprobe_tree::source::SourceFile::new(path.as_str().into(), text.as_str().into())
            });
            let set = SourceSet::new(files.collect());
            let documents = set.files.iter().flat_map(|file| &file.documents);
            let objects: Vec<Object<'_>> = documents.flat_map(Object::all_in).collect();
            let environments = Environments::of(objects.iter());
            let mut listed: Vec<&String> = paths.iter().collect();
            listed.rotate_left(order.index(paths.len()));
            let mut facts: NamespaceIndex<'_, &str> = NamespaceIndex::default();
            for path in &listed {
                let place = Place {
                    namespace: "shop",
                    environment: environments.environment(path),
                    folder: folder(path),
                };
                facts.push(place, path.as_str());
            }
            for home in &paths {
                let near: Vec<&str> = facts.near("shop", &environments, home).map(|(_, path)| *path).collect();
                let joined: Vec<&str> =
                    listed.iter().map(|path| path.as_str()).filter(|path| environments.may_apply(path, home)).collect();
                prop_assert_eq!(&near, &joined, "{}", home);
                let all: Vec<&str> = facts.all_near(&environments, home).copied().collect();
                prop_assert_eq!(&all, &joined, "{}", home);
            }
        }
    }

    #[test]
    fn a_fact_is_found_if_a_pod_has_all_its_labels() {
        let facts = vec![
            ("a", vec![("all", "1"), ("app", "x")]),
            ("a", vec![("all", "1")]),
            ("a", Vec::new()),
            ("b", vec![("app", "x")]),
            ("a", vec![("app", "y"), ("all", "1")]),
        ];
        let index = LabelIndex::of(&facts);
        let found = |namespace: &str, text: &str| {
            let text: Arc<str> = text.into();
            let tree = parse(&text, Span::new(0, text.len())).unwrap().unwrap();
            index.selecting(namespace, tree.root())
        };
        assert_eq!(found("a", "{all: '1', app: x}\n"), [0, 1]);
        assert_eq!(found("a", "{all: '1', app: z}\n"), [1]);
        assert_eq!(found("a", "{app: y}\n"), [0_usize; 0]);
        assert_eq!(found("a", "{app: y, b: c, all: '1'}\n"), [1, 4]);
        assert_eq!(found("b", "{app: x}\n"), [3]);
        assert_eq!(found("c", "{app: x}\n"), [0_usize; 0]);
        let selector_labels = |text: &str| {
            let text: Arc<str> = text.into();
            let tree = parse(&text, Span::new(0, text.len())).unwrap().unwrap();
            index.selector_labels("a", tree.root())
        };
        assert_eq!(
            selector_labels("{all: '1', b: c}\n"),
            selector_labels("{d: e, all: '1'}\n")
        );
        assert_eq!(selector_labels("{app: z}\n"), selector_labels("{app: w}\n"));
        assert_ne!(selector_labels("{app: x}\n"), selector_labels("{app: y}\n"));
        assert_ne!(
            selector_labels("{app: z}\n"),
            selector_labels("{all: '1'}\n")
        );
        assert_eq!(index.unselective("a"), [2]);
        assert_eq!(index.unselective("b"), [0_usize; 0]);
    }
}
