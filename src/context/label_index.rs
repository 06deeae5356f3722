//! Facts by a label that they ask of pods, so that a pod meets only those that may select it.

use hashbrown::HashMap;

use crate::yaml::NodeRef;

/// The key and the value of a label.
type Pair<'t> = (&'t str, &'t str);

/// A label of a pod with a key that a selector asks for: the numbers of key and value. Values that no selector asks for
/// have no number, because all of them are alike.
pub(super) type AskedLabel = (usize, Option<usize>);

/// The numbers of facts by namespace and by the rarest label that each of them asks for.
#[derive(Debug, Default)]
pub(super) struct LabelIndex<'t> {
    /// The keys that facts of a namespace ask for.
    keys: HashMap<(&'t str, &'t str), usize>,
    /// The labels that they ask for.
    pairs: HashMap<(&'t str, Pair<'t>), usize>,
    by_pair: HashMap<(&'t str, Pair<'t>), Vec<usize>>,
    /// Facts that ask for no label.
    unselective: HashMap<&'t str, Vec<usize>>,
}

impl<'t> LabelIndex<'t> {
    /// Sorts facts, given in their order: the namespace of each, and the labels that it asks for.
    pub(super) fn of(facts: &[(&'t str, Vec<Pair<'t>>)]) -> Self {
        let mut index = Self::default();
        let mut counts: HashMap<(&str, Pair<'_>), usize> = HashMap::new();
        for (namespace, labels) in facts {
            for label in labels {
                *counts.entry((*namespace, *label)).or_default() += 1;
                let number = index.keys.len();
                index.keys.entry((*namespace, label.0)).or_insert(number);
                let number = index.pairs.len();
                index.pairs.entry((*namespace, *label)).or_insert(number);
            }
        }
        for (at, (namespace, labels)) in facts.iter().enumerate() {
            let keys = labels.iter().map(|label| (*namespace, *label));
            let rarest = keys.min_by_key(|key| counts.get(key));
            let found = match rarest {
                Some(key) => index.by_pair.entry(key).or_default(),
                None => index.unselective.entry(namespace).or_default(),
            };
            found.push(at);
        }
        index
    }

    /// Lists the facts of a namespace that may select pods with these labels (a mapping), in their order; not those
    /// that ask for no label.
    pub(super) fn selecting(&self, namespace: &str, labels: Option<NodeRef<'_>>) -> Vec<usize> {
        if self.by_pair.is_empty() {
            return Vec::new();
        }
        let mut found = Vec::new();
        let entries = labels.into_iter().flat_map(NodeRef::effective_entries);
        for entry in entries {
            if let (Some(key), Some(value)) = (entry.key.text(), entry.value.text()) {
                let of_pair = self.by_pair.get(&(namespace, (key, value)));
                found.extend(of_pair.into_iter().flatten());
            }
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Returns those of `labels` (a mapping) that decide which facts of a namespace select a pod, in their order: all
    /// facts select two pods alike for which this is equal.
    pub(super) fn asked(&self, namespace: &str, labels: Option<NodeRef<'_>>) -> Vec<AskedLabel> {
        if self.keys.is_empty() {
            return Vec::new();
        }
        let entries = labels.into_iter().flat_map(NodeRef::effective_entries);
        let asked = entries.filter_map(|entry| {
            let key = entry.key.text()?;
            let number = *self.keys.get(&(namespace, key))?;
            let value = entry.value.text();
            let value = value.and_then(|value| self.pairs.get(&(namespace, (key, value))));
            Some((number, value.copied()))
        });
        asked.collect()
    }

    /// Lists the facts of a namespace that ask for no label, in their order.
    pub(super) fn unselective(&self, namespace: &str) -> &[usize] {
        self.unselective.get(namespace).map_or(&[], Vec::as_slice)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::yaml::{Span, parse};

    #[test]
    fn facts_are_found_by_their_rarest_label() {
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
        assert_eq!(found("a", "{app: y}\n"), [4]);
        assert_eq!(found("b", "{app: x}\n"), [3]);
        assert_eq!(found("c", "{app: x}\n"), [0_usize; 0]);
        let asked = |text: &str| {
            let text: Arc<str> = text.into();
            let tree = parse(&text, Span::new(0, text.len())).unwrap().unwrap();
            index.asked("a", tree.root())
        };
        assert_eq!(asked("{all: '1', b: c}\n"), asked("{d: e, all: '1'}\n"));
        assert_eq!(asked("{app: z}\n"), asked("{app: w}\n"));
        assert_ne!(asked("{app: x}\n"), asked("{app: y}\n"));
        assert_ne!(asked("{app: z}\n"), asked("{all: '1'}\n"));
        assert_eq!(index.unselective("a"), [2]);
        assert_eq!(index.unselective("b"), [0_usize; 0]);
    }
}
