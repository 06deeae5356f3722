//! Keys that occur more than once in a mapping.

use std::borrow::Cow;

use hashbrown::HashMap;
use hashbrown::hash_map::Entry as Slot;

use super::merge::key_text;
use super::scalar::Scalar;
use super::span::Span;
use super::tree::{Kind, NodeRef, Tree};

impl Tree {
    /// Returns the spans of keys that occur more than once in a mapping, as pairs of the first key and a later
    /// one. Keys are equal if Kubernetes tooling reads them as the same key; merge keys may repeat.
    #[must_use]
    pub fn duplicate_keys(&self) -> &[(Span, Span)] {
        self.duplicate_keys
            .get_or_compute(|| self.find_duplicate_keys())
    }

    fn find_duplicate_keys(&self) -> Box<[(Span, Span)]> {
        let mappings = self.all().filter(|node| node.kind() == Kind::Mapping);
        let pairs = mappings.flat_map(duplicates);
        pairs
            .map(|(first, later)| (first.span(), later.span()))
            .collect()
    }
}

/// Returns pairs of the first key of a mapping and an equal key after it.
fn duplicates(mapping: NodeRef<'_>) -> Vec<(NodeRef<'_>, NodeRef<'_>)> {
    let mut found = Vec::new();
    if mapping.entries().len() < 2 || all_differ(mapping) {
        return found;
    }
    let mut first: HashMap<Cow<'_, str>, NodeRef<'_>> = HashMap::new();
    let keys = mapping.entries().map(|entry| entry.key);
    for key in keys.filter(|key| !key.is_merge_key()) {
        match key_text(key).map(|text| first.entry(text)) {
            Some(Slot::Occupied(slot)) => found.push((*slot.get(), key)),
            Some(Slot::Vacant(slot)) => {
                slot.insert(key);
            }
            None => {}
        }
    }
    found
}

/// Returns whether all keys are strings with different [`mark`]s, as in most mappings.
fn all_differ(mapping: NodeRef<'_>) -> bool {
    let mut seen = 0u128;
    mapping.entries().all(|entry| {
        let Some(Scalar::Str(key)) = entry.key.scalar() else {
            return false;
        };
        let mark = 1 << mark(key);
        let is_new = seen & mark == 0;
        seen |= mark;
        is_new
    })
}

/// Returns a number below 128 that is the same for equal keys, and differs for most others.
fn mark(key: &str) -> usize {
    let ends = key.bytes().next().zip(key.bytes().next_back());
    let (first, last) = ends.unwrap_or_default();
    (key.len() + 7 * usize::from(first) + 31 * usize::from(last)) % 128
}

/// Returns the first key of a mapping that repeats an earlier one.
pub(super) fn first_duplicate(mapping: NodeRef<'_>) -> Option<NodeRef<'_>> {
    duplicates(mapping).first().map(|(_, later)| *later)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use crate::{Span, Tree, parse};

    fn tree(text: &str) -> Tree {
        parse(&Arc::from(text), Span::new(0, text.len()))
            .unwrap()
            .unwrap()
    }

    #[test]
    fn every_repeated_key_is_paired_with_the_first() {
        let text =
            "a: {k: 1, \"k\": 2, l: 3}\nb: 1\nb: 2\nb: 3\n<<: {x: 1}\n<<: {x: 2}\n~: 1\n~: 2\n";
        let tree = tree(text);
        let found: Vec<_> = tree
            .duplicate_keys()
            .iter()
            .map(|(first, later)| (first.slice(text), first.start, later.slice(text)))
            .collect();
        assert_eq!(found, [("b", 24, "b"), ("b", 24, "b"), ("k", 4, "\"k\"")]);
    }
}
