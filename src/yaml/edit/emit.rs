//! Walks a document along its fates and collects the edits.

use std::cell::OnceCell;

use super::fate::{Addition, Fate, Own, Place};
use super::layout::Layout;
use super::lines::Lines;
use super::quote::string;
use super::{Edit, EditError};
use crate::yaml::change::Value;
use crate::yaml::same::same;
use crate::yaml::span::Span;
use crate::yaml::tree::{Kind, NodeRef, Style, Tree};

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
}

impl<'t> Emitter<'t> {
    pub(super) fn new(tree: &'t Tree) -> Self {
        Self {
            tree,
            lines: Lines::new(tree.text(), tree.segment()),
            layout: OnceCell::new(),
            edits: Vec::new(),
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

    /// Sorts the edits and joins those that touch each other.
    pub(super) fn finish(mut self) -> Result<Vec<Edit>, EditError> {
        self.edits.sort_by_key(|edit| edit.span.start);
        let mut joined: Vec<Edit> = Vec::with_capacity(self.edits.len());
        for edit in self.edits {
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
        Ok(joined)
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
        let children = children(node);
        pair_up(&mut fate, children.len(), node.kind() == Kind::Sequence);
        let removed: Vec<usize> = fate
            .children
            .iter()
            .filter(|(_, child)| matches!(child.own, Own::Remove))
            .map(|(&index, _)| index)
            .collect();
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
        self.remove(node, &children, &removed)
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

impl Child<'_> {
    /// From the key, or the item's value, to the end of the value.
    pub(super) fn span(&self) -> Span {
        let start = self.key.unwrap_or(self.value).outer_span().start;
        Span::new(start, self.value.outer_span().end)
    }
}

pub(super) fn children(node: NodeRef<'_>) -> Vec<Child<'_>> {
    let entries = node.entries().map(|entry| Child {
        key: Some(entry.key),
        value: entry.value,
    });
    let items = node.items().map(|value| Child { key: None, value });
    entries.chain(items).collect()
}

/// Tells whether the entries of `node` can turn into `entries` one by one.
fn can_morph(node: NodeRef<'_>, entries: &[(String, Value)]) -> bool {
    let mut seen = std::collections::HashSet::new();
    let plain_keys = node.entries().all(|entry| {
        !entry.key.is_merge_key() && entry.key.text().is_some_and(|text| seen.insert(text))
    });
    plain_keys && node.tag().is_none() && !entries.is_empty() && node.entries().len() > 0
}

/// Compares a mapping with the entries that it is to have.
fn entry_fates(node: NodeRef<'_>, entries: Vec<(String, Value)>) -> Fate {
    let mut fate = Fate::default();
    let names: Vec<&str> = node.entries().filter_map(|e| e.key.text()).collect();
    let mut place = Place::First;
    let mut found = vec![false; names.len()];
    for (key, value) in entries {
        match names.iter().position(|&name| name == key) {
            Some(index) => {
                place = Place::After(index);
                if let Some(found) = found.get_mut(index) {
                    *found = true;
                }
                fate.children.insert(index, Fate::new(Own::Become(value)));
            }
            None => fate.added.push(Addition {
                place: Some(place),
                key: Some(key),
                value,
            }),
        }
    }
    for (index, _) in found.iter().enumerate().filter(|(_, found)| !**found) {
        fate.children.insert(index, Fate::new(Own::Remove));
    }
    fate
}

/// Compares a list with the items that it is to have: what is equal at both ends stays.
fn item_fates(node: NodeRef<'_>, items: Vec<Value>) -> Fate {
    let old: Vec<NodeRef<'_>> = node.items().collect();
    let front = old
        .iter()
        .zip(&items)
        .take_while(|(node, value)| same(**node, value))
        .count();
    let shorter = old.len().min(items.len()) - front;
    let back = old
        .iter()
        .rev()
        .zip(items.iter().rev())
        .take(shorter)
        .take_while(|(node, value)| same(**node, value))
        .count();
    let mut fate = Fate::default();
    let (old_end, new_end) = (old.len() - back, items.len() - back);
    for (index, value) in items.into_iter().enumerate().take(new_end).skip(front) {
        if index < old_end {
            fate.children.insert(index, Fate::new(Own::Become(value)));
        } else {
            let place = old_end.checked_sub(1).map_or(Place::First, Place::After);
            fate.added.push(Addition {
                place: Some(place),
                key: None,
                value,
            });
        }
    }
    for index in new_end.max(front)..old_end {
        fate.children.insert(index, Fate::new(Own::Remove));
    }
    fate
}

/// Puts new entries in the place of removed ones, so that a line changes instead of two; in a
/// list, whose order counts, only at its end.
fn pair_up(fate: &mut Fate, count: usize, ordered: bool) {
    let is_removed = |index: &usize| {
        let child = fate.children.get(index);
        child.is_some_and(|child| matches!(child.own, Own::Remove))
    };
    let from = match (0..count).rfind(|index| !is_removed(index)) {
        Some(kept) if ordered => kept + 1,
        _ => 0,
    };
    let mut added = std::mem::take(&mut fate.added).into_iter();
    for (_, child) in fate.children.range_mut(from..) {
        if !matches!(child.own, Own::Remove) {
            continue;
        }
        let Some(addition) = added.next() else { break };
        child.own = match addition.key {
            None => Own::Become(addition.value),
            Some(key) => Own::Rename(key, addition.value),
        };
    }
    fate.added = added.collect();
}

/// Tells whether a collection, or the nearest one around a node, is written in brackets.
pub(super) fn in_flow(node: NodeRef<'_>) -> bool {
    node.parent()
        .is_some_and(|parent| parent.style() == Style::Flow)
}
