//! Indexes facts by label selector, so that a pod is compared only with facts that select it.

use hashbrown::HashMap;
use meshprobe_yaml::NodeRef;

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
    use std::sync::Arc;

    use super::*;
    use meshprobe_yaml::{Span, parse};

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
