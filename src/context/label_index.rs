//! Indexes facts by label selector, so that a pod is compared only with facts that select it.

use std::collections::BTreeMap;

use hashbrown::HashMap;

use crate::yaml::NodeRef;

/// The key and the value of a label.
type Pair<'t> = (&'t str, &'t str);

/// A label of a pod whose key a selector names: the numbers of its key and value. A value that no
/// selector names has no number, because all such values are equivalent.
pub(super) type SelectorLabel = (usize, Option<usize>);

/// A prefix tree of selectors. Each edge is a label that a selector requires; labels that few
/// selectors share come first. A lookup follows the labels of the pod.
#[derive(Debug, Default)]
pub(crate) struct LabelIndex<'t> {
    /// The label keys that selectors of a namespace name, numbered.
    keys: HashMap<(&'t str, &'t str), usize>,
    /// The labels that selectors of a namespace require, numbered in the order of the edges.
    pairs: HashMap<(&'t str, Pair<'t>), usize>,
    roots: HashMap<&'t str, usize>,
    nodes: Vec<Node>,
}

/// A node of the prefix tree.
#[derive(Debug, Default)]
struct Node {
    /// The facts that require exactly the labels on the path to this node.
    facts: Vec<usize>,
    /// The nodes with one more label, by the number of that label.
    children: BTreeMap<usize, usize>,
}

impl<'t> LabelIndex<'t> {
    /// Indexes facts, given in their order: the namespace of each, and the labels that it requires.
    pub(crate) fn of(facts: &[(&'t str, Vec<Pair<'t>>)]) -> Self {
        let mut index = Self::default();
        index.number_labels(facts);
        for (at, (namespace, labels)) in facts.iter().enumerate() {
            let mut steps: Vec<usize> = labels
                .iter()
                .filter_map(|label| index.pairs.get(&(*namespace, *label)).copied())
                .collect();
            steps.sort_unstable();
            steps.dedup();
            index.insert(namespace, &steps, at);
        }
        index
    }

    /// Numbers the keys in the order of the facts, and the labels so that a selector starts with the key
    /// that has the fewest facts per value.
    fn number_labels(&mut self, facts: &[(&'t str, Vec<Pair<'t>>)]) {
        let mut uses: Vec<usize> = Vec::new();
        let mut pairs = Vec::new();
        let mut values: Vec<usize> = Vec::new();
        for (namespace, labels) in facts {
            for label in labels {
                let next = self.keys.len();
                let key = *self.keys.entry((*namespace, label.0)).or_insert(next);
                uses.resize(self.keys.len(), 0);
                values.resize(self.keys.len(), 0);
                if let (Some(uses), Some(values)) = (uses.get_mut(key), values.get_mut(key)) {
                    *uses += 1;
                    let next = pairs.len();
                    self.pairs.entry((*namespace, *label)).or_insert_with(|| {
                        pairs.push((key, (*namespace, *label)));
                        *values += 1;
                        next
                    });
                }
            }
        }
        pairs.sort_by_cached_key(|(key, _)| {
            let facts_per_value = uses.get(*key).zip(values.get(*key));
            (facts_per_value.map(|(uses, values)| uses / values), *key)
        });
        for (number, (_, pair)) in pairs.into_iter().enumerate() {
            self.pairs.insert(pair, number);
        }
    }

    fn insert(&mut self, namespace: &'t str, steps: &[usize], fact: usize) {
        let mut at = *self.roots.entry(namespace).or_insert_with(|| {
            self.nodes.push(Node::default());
            self.nodes.len() - 1
        });
        for &step in steps {
            let next = self.nodes.len();
            let Some(node) = self.nodes.get_mut(at) else {
                return;
            };
            at = *node.children.entry(step).or_insert(next);
            if at == next {
                self.nodes.push(Node::default());
            }
        }
        if let Some(node) = self.nodes.get_mut(at) {
            node.facts.push(fact);
        }
    }

    fn root(&self, namespace: &str) -> Option<&Node> {
        self.nodes.get(*self.roots.get(namespace)?)
    }

    /// Returns the facts of a namespace that select pods with these labels (a mapping), in their order,
    /// without facts that have no label selector.
    pub(crate) fn selecting(&self, namespace: &str, labels: Option<NodeRef<'_>>) -> Vec<usize> {
        let mut found = Vec::new();
        let Some(root) = self
            .root(namespace)
            .filter(|root| !root.children.is_empty())
        else {
            return found;
        };
        let mut numbers: Vec<usize> = labels
            .into_iter()
            .flat_map(NodeRef::effective_entries)
            .filter_map(|entry| {
                let pair = (entry.key.text()?, entry.value.text()?);
                self.pairs.get(&(namespace, pair)).copied()
            })
            .collect();
        numbers.sort_unstable();
        let mut open = vec![(root, numbers.as_slice())];
        while let Some((node, rest)) = open.pop() {
            let mut follow = |at: usize, next: Option<&usize>| {
                if let Some(next) = next.and_then(|next| self.nodes.get(*next)) {
                    found.extend(&next.facts);
                    open.push((next, rest.get(at + 1..).unwrap_or_default()));
                }
            };
            // Iterates over the shorter list: the labels of the pod, or the children of the node.
            if node.children.len() < rest.len() {
                for (number, next) in &node.children {
                    if let Ok(at) = rest.binary_search(number) {
                        follow(at, Some(next));
                    }
                }
            } else {
                for (at, number) in rest.iter().enumerate() {
                    follow(at, node.children.get(number));
                }
            }
        }
        found.sort_unstable();
        found
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
        self.root(namespace)
            .map_or(&[], |root| root.facts.as_slice())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::yaml::{Span, parse};

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
