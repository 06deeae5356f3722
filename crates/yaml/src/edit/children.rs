//! The entries and items of a node.

use crate::span::Span;
use crate::tree::{Entry, Kind, NodeRef, Style};

/// An entry or item.
#[derive(Clone, Copy)]
pub(super) struct Child<'t> {
    pub(super) key: Option<NodeRef<'t>>,
    pub(super) value: NodeRef<'t>,
}

impl<'t> Child<'t> {
    const fn of_entry(entry: Entry<'t>) -> Self {
        Self {
            key: Some(entry.key),
            value: entry.value,
        }
    }

    const fn of_item(value: NodeRef<'t>) -> Self {
        Self { key: None, value }
    }

    /// Returns the span from the key, or the item's value, to the end of the value.
    pub(super) fn span(&self) -> Span {
        let start = self.key.unwrap_or(self.value).outer_span().start;
        Span::new(start, self.value.outer_span().end)
    }
}

/// Returns the entries or items of a node.
pub(super) fn children(node: NodeRef<'_>) -> Vec<Child<'_>> {
    node.entries()
        .map(Child::of_entry)
        .chain(node.items().map(Child::of_item))
        .collect()
}

/// Returns the number of entries or items of a node.
pub(super) fn child_count(node: NodeRef<'_>) -> usize {
    node.entries().len() + node.items().len()
}

/// Returns the entry or item at `index`.
pub(super) fn nth_child(node: NodeRef<'_>, index: usize) -> Option<Child<'_>> {
    let entry = node.entries().nth(index).map(Child::of_entry);
    entry.or_else(|| node.items().nth(index).map(Child::of_item))
}

/// Returns the last scalar, alias or empty collection in `node`.
pub(super) fn last_leaf(node: NodeRef<'_>) -> NodeRef<'_> {
    let mut leaf = node;
    while leaf.kind() != Kind::Alias
        && let Some(last) = children(leaf).last()
    {
        leaf = last.value;
    }
    leaf
}

/// Returns whether the parent of a node is written in brackets.
pub(super) fn in_flow(node: NodeRef<'_>) -> bool {
    node.parent()
        .is_some_and(|parent| parent.style() == Style::Flow)
}
