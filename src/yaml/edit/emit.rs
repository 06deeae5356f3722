//! Walks a document along its fates and collects the edits.

use std::cell::OnceCell;

use super::fate::{Addition, Fate, Own, Place};
use super::insert::Seal;
use super::layout::Layout;
use super::lines::Lines;
use super::morph::{can_morph, entry_fates, item_fates, pair_up};
use super::quote::string;
use super::{Edit, EditError};
use crate::yaml::change::Value;
use crate::yaml::same::same;
use crate::yaml::span::Span;
use crate::yaml::tree::{Entry, Kind, NodeRef, Style, Tree};

/// Returns the edits that make `fate` true, sorted.
pub(super) fn edits(tree: &Tree, root: NodeRef<'_>, fate: Fate) -> Result<Vec<Edit>, EditError> {
    let mut emitter = Emitter::new(tree);
    emitter.node(root, fate)?;
    emitter.finish()
}

pub(super) struct Emitter<'t> {
    tree: &'t Tree,
    pub(super) lines: Lines<'t>,
    layout: OnceCell<Layout>,
    edits: Vec<Edit>,
    pub(super) seal: Option<Seal>,
}

impl<'t> Emitter<'t> {
    pub(super) fn new(tree: &'t Tree) -> Self {
        Self {
            tree,
            lines: Lines::new(tree.text(), tree.segment()),
            layout: OnceCell::new(),
            edits: Vec::new(),
            seal: None,
        }
    }

    pub(super) fn layout(&self) -> Layout {
        *self
            .layout
            .get_or_init(|| Layout::of(self.tree, self.lines))
    }

    /// Records an edit; of two at one place the one recorded first comes first.
    pub(super) fn edit(&mut self, start: usize, end: usize, text: impl Into<String>) {
        self.edits.push(Edit {
            span: Span::new(start, end),
            text: text.into(),
        });
    }

    /// Returns how many edits are recorded.
    pub(super) const fn edit_count(&self) -> usize {
        self.edits.len()
    }

    /// Returns what the edits recorded since there were `count` replace.
    pub(super) fn edits_since(&self, count: usize) -> impl Iterator<Item = Span> {
        self.edits.iter().skip(count).map(|edit| edit.span)
    }

    /// Sorts the edits, insertions first, and joins those that touch each other.
    pub(super) fn finish(mut self) -> Result<Vec<Edit>, EditError> {
        if let Some(seal) = self.seal.take() {
            let apart = |edit: &Edit| {
                edit.span.end <= seal.scalar.start || edit.span.start >= seal.scalar.end
            };
            if self.edits.iter().all(apart) {
                self.edits.push(seal.header);
            }
        }
        self.edits.sort_by_key(|edit| edit.span);
        let mut joined: Vec<Edit> = Vec::with_capacity(self.edits.len());
        for edit in std::mem::take(&mut self.edits) {
            match joined.last_mut() {
                Some(last) if edit.span.start < last.span.end => {
                    return Err(EditError {
                        offset: edit.span.start,
                        reason: "two changes meet in the same text".to_owned(),
                    });
                }
                Some(last) if last.span.end == edit.span.start => {
                    last.span.end = edit.span.end;
                    last.text.push_str(&edit.text);
                }
                _ => joined.push(edit),
            }
        }
        if let Some(first) = joined.first_mut() {
            self.fill_first_line(first);
        }
        if let Some(last) = joined.last_mut() {
            self.fill_last_line(last);
        }
        Ok(joined)
    }

    /// The lines behind take the place of lines that were cut off at the very start.
    fn fill_first_line(&self, first: &mut Edit) {
        let Span { start, end } = first.span;
        let cut =
            end > start && self.lines.start(start) == start && self.lines.before(start).is_none();
        if cut && first.text.is_empty() && self.lines.end(end) == end {
            first.span.end = self.lines.next(end);
        } else if cut {
            let text = first.text.trim_start_matches('\r');
            if let Some(rest) = text.strip_prefix('\n') {
                first.text = rest.to_owned();
            }
        }
    }

    /// New lines take the place of lines that were cut off at the very end of a file.
    fn fill_last_line(&self, last: &mut Edit) {
        let Span { start, end } = last.span;
        let cut = end > start && !self.lines.is_terminated(end) && self.lines.start(start) == start;
        if cut && self.lines.rest(end).is_empty() {
            let text = last.text.trim_start_matches('\r');
            if let Some(rest) = text.strip_prefix('\n') {
                last.text = rest.to_owned();
            }
        }
    }

    pub(super) fn node(&mut self, node: NodeRef<'t>, fate: Fate) -> Result<(), EditError> {
        match fate.own {
            Own::Become(value) => self.morph(node, value),
            _ if fate.is_kept() => Ok(()),
            _ => self.collection(node, fate),
        }
    }

    /// Gives `node` a value; what is the same already stays.
    fn morph(&mut self, node: NodeRef<'t>, value: Value) -> Result<(), EditError> {
        if same(node, &value) {
            return Ok(());
        }
        match (node.kind(), value) {
            (Kind::Mapping, Value::Map(entries)) if can_morph(node, &entries) => {
                self.collection(node, entry_fates(node, entries))
            }
            (Kind::Sequence, Value::Seq(items))
                if node.items().len() > 0 && !items.is_empty() && node.tag().is_none() =>
            {
                self.collection(node, item_fates(node, items))
            }
            (_, value) => self.put(node, &value),
        }
    }

    fn collection(&mut self, node: NodeRef<'t>, mut fate: Fate) -> Result<(), EditError> {
        pair_up(&mut fate, child_count(node), node.kind() == Kind::Sequence);
        if fate.keeps_children() {
            return self.only_children(node, fate);
        }
        let children = children(node);
        let of_kind = |is_wanted: fn(&Fate) -> bool| -> Vec<usize> {
            let found = fate.children.iter().filter(|(_, child)| is_wanted(child));
            found.map(|(&index, _)| index).collect()
        };
        let removed = of_kind(|child| matches!(child.own, Own::Remove));
        let blocks = of_kind(Fate::may_write_block);
        if removed.len() == children.len() {
            return self.emptied(node, fate.added);
        }
        let last = (0..children.len()).rfind(|index| removed.binary_search(index).is_err());
        let mut added = fate.added;
        let first = added
            .extract_if(.., |one| one.place == Some(Place::First))
            .collect();
        self.insert(node, &children, Place::First, first)?;
        for (index, child) in children.iter().enumerate() {
            if let Some(fate) = fate.children.remove(&index) {
                self.child(child, fate)?;
            }
            let here = |one: &mut Addition| match one.place {
                Some(place) => place == Place::After(index),
                None => last == Some(index),
            };
            let behind = added.extract_if(.., here).collect();
            self.insert(node, &children, Place::After(index), behind)?;
        }
        self.remove(node, &children, &removed, &blocks)
    }

    /// Edits within entries or items. A list of thousands of items is not walked for the one that changes.
    fn only_children(&mut self, node: NodeRef<'t>, fate: Fate) -> Result<(), EditError> {
        for (index, fate) in fate.children {
            if let Some(child) = nth_child(node, index) {
                self.child(&child, fate)?;
            }
        }
        Ok(())
    }

    /// A collection that had no entries, or keeps none.
    fn emptied(&mut self, node: NodeRef<'t>, added: Vec<Addition>) -> Result<(), EditError> {
        if node.kind() == Kind::Mapping {
            let entries = added
                .into_iter()
                .map(|one| (one.key.unwrap_or_default(), one.value));
            self.put(node, &Value::Map(entries.collect()))
        } else {
            let items = added.into_iter().map(|one| one.value);
            self.put(node, &Value::Seq(items.collect()))
        }
    }

    fn child(&mut self, child: &Child<'t>, fate: Fate) -> Result<(), EditError> {
        match fate.own {
            Own::Remove => Ok(()),
            Own::Rename(key, value) => {
                if let Some(old) = child.key {
                    self.rename(old, &key);
                }
                self.morph(child.value, value)
            }
            _ => self.node(child.value, fate),
        }
    }

    fn rename(&mut self, key: NodeRef<'t>, name: &str) {
        let text = string(name, key.style(), self.around(key));
        self.edit(key.span().start, key.span().end, text);
    }
}

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

    /// From the key, or the item's value, to the end of the value.
    pub(super) fn span(&self) -> Span {
        let start = self.key.unwrap_or(self.value).outer_span().start;
        Span::new(start, self.value.outer_span().end)
    }
}

pub(super) fn children(node: NodeRef<'_>) -> Vec<Child<'_>> {
    let entries = node.entries().map(Child::of_entry);
    entries.chain(node.items().map(Child::of_item)).collect()
}

fn child_count(node: NodeRef<'_>) -> usize {
    node.entries().len() + node.items().len()
}

fn nth_child(node: NodeRef<'_>, index: usize) -> Option<Child<'_>> {
    let entry = node.entries().nth(index).map(Child::of_entry);
    entry.or_else(|| node.items().nth(index).map(Child::of_item))
}

/// Returns the last scalar, alias or empty collection of what `node` holds.
pub(super) fn last_leaf(node: NodeRef<'_>) -> NodeRef<'_> {
    let mut leaf = node;
    while leaf.kind() != Kind::Alias
        && let Some(last) = children(leaf).last()
    {
        leaf = last.value;
    }
    leaf
}

/// Tells whether a collection, or the nearest one around a node, is written in brackets.
pub(super) fn in_flow(node: NodeRef<'_>) -> bool {
    node.parent()
        .is_some_and(|parent| parent.style() == Style::Flow)
}
