//! Lookup of entries by their keys, with merge keys applied.

use std::cell::Cell;

use super::node::{Entry, NodeRef};
use super::storage::{Kind, MERGE_DEPTH, MERGED_MAPPINGS, NONE, Tree};
use crate::field_path::{FieldPath, Step};
use crate::merge::effective_entries;
use crate::span::Span;

/// Limit on the entries that merge keys add to one mapping.
const MERGED_ENTRIES: usize = 1_000_000;

impl<'t> NodeRef<'t> {
    /// Returns the effective entries of a mapping: first its own entries without the merge keys, then the
    /// entries that the merge keys add and the mapping does not override.
    #[must_use]
    pub fn effective_entries(self) -> Vec<Entry<'t>> {
        if !self.has_merge_key() {
            return self.entries().collect();
        }
        // A document that exceeds the limit is rejected.
        effective_entries(self, &Cell::new(MERGED_ENTRIES)).unwrap_or_default()
    }

    /// Returns whether the mapping contains a merge key, so that its own entries may not be all of them.
    #[must_use]
    pub fn has_merge_key(self) -> bool {
        self.tree.has_merge_keys && self.entries().any(|entry| entry.key.is_merge_key())
    }

    /// Returns the entry of `key`: the last one if the key occurs twice, else the one that a merge key adds.
    #[must_use]
    pub fn entry(self, key: &str) -> Option<Entry<'t>> {
        self.entry_within(key, MERGE_DEPTH, &Cell::new(MERGED_MAPPINGS))
    }

    fn entry_within(self, key: &str, depth: usize, budget: &Cell<usize>) -> Option<Entry<'t>> {
        if let Some(own) = self.own_entry(key) {
            return Some(own);
        }
        self.merged_within(key, depth.checked_sub(1)?, budget)
    }

    /// Returns the last entry that is written for `key`. This is the most frequent query of a run,
    /// so only the matching entry is built.
    fn own_entry(self, key: &str) -> Option<Entry<'t>> {
        let tree = self.tree;
        let node = self.resolved().node;
        if node.kind != Kind::Mapping {
            return None;
        }
        let links = tree.links.get(node.first as usize..node.last as usize)?;
        let mut pairs = links.as_chunks::<2>().0.iter();
        let &[found, value] = pairs.rfind(|[id, _]| tree.is_key(*id, key))?;
        Some(Entry {
            key: tree.node(found)?,
            value: tree.node(value)?,
            merged: false,
        })
    }

    /// Returns the entry that a merge key adds for `key`, even if the mapping has its own entry for it.
    pub(crate) fn merged_entry(self, key: &str) -> Option<Entry<'t>> {
        self.merged_within(key, MERGE_DEPTH, &Cell::new(MERGED_MAPPINGS))
    }

    fn merged_within(self, key: &str, depth: usize, budget: &Cell<usize>) -> Option<Entry<'t>> {
        if !self.tree.has_merge_keys {
            return None;
        }
        budget.set(budget.get().checked_sub(1)?);
        self.entries()
            .filter(|entry| entry.key.is_merge_key())
            .flat_map(|merge| std::iter::once(merge.value).chain(merge.value.items()))
            .find_map(|base| base.entry_within(key, depth, budget))
            .map(|entry| Entry {
                merged: true,
                ..entry
            })
    }

    /// Returns the value of `key`; follows aliases and merge keys.
    #[must_use]
    pub fn get(self, key: &str) -> Option<NodeRef<'t>> {
        self.entry(key).map(|entry| entry.value)
    }

    /// Returns the entry of `key`, unless its value is null.
    #[must_use]
    pub fn set_entry(self, key: &str) -> Option<Entry<'t>> {
        self.entry(key).filter(|entry| !entry.value.is_null())
    }

    /// Iterates over the effective entries whose values are not null.
    pub fn set_entries(self) -> impl Iterator<Item = Entry<'t>> + use<'t> {
        let entries = self.effective_entries().into_iter();
        entries.filter(|entry| !entry.value.is_null())
    }

    /// Returns the value of `key`, unless it is null.
    #[must_use]
    pub fn get_set(self, key: &str) -> Option<NodeRef<'t>> {
        self.set_entry(key).map(|entry| entry.value)
    }

    /// Follows a route from this node.
    #[must_use]
    pub fn at(self, route: &FieldPath) -> Option<NodeRef<'t>> {
        route
            .steps()
            .iter()
            .try_fold(self, |node, step| match step {
                Step::Key(key) => node.get(key),
                Step::Index(index) => node.item(*index),
            })
    }
}

impl Tree {
    /// Returns whether the text of a node is `key`, and the node is not a merge key.
    fn is_key(&self, id: u32, key: &str) -> bool {
        let Some(node) = self.nodes.get(id as usize) else {
            return false;
        };
        // Most keys differ in length.
        if node.kind == Kind::Scalar && !self.has_merge_keys {
            let (text, span) = match node.first {
                NONE => (&*self.text, node.span.span()),
                first => (
                    &*self.decoded,
                    Span::new(first as usize, node.last as usize),
                ),
            };
            return text.as_bytes().get(span.start..span.end) == Some(key.as_bytes());
        }
        self.node(id)
            .is_some_and(|node| node.text() == Some(key) && !node.is_merge_key())
    }
}
