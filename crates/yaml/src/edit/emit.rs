//! Follows the planned changes of a document, and records their edits.

use std::cell::OnceCell;

use super::diff::{can_diff, diff_entries, diff_items, reuse_removed};
use super::layout::{Layout, Lines};
use super::node_plan::{Addition, InsertPosition, NodeAction, NodePlan};
use super::writer::string;
use crate::change::{Value, has_value};
use crate::span::{Edit, EditError, Span};
use crate::tree::{Entry, Kind, NodeRef, Style, Tree};

/// Returns the sorted edits for the planned changes `plan` of the root.
pub(super) fn edits(
    tree: &Tree,
    root: NodeRef<'_>,
    plan: NodePlan,
) -> Result<Vec<Edit>, EditError> {
    let mut emitter = Emitter::new(tree);
    emitter.node(root, plan)?;
    emitter.finish()
}

impl<'t> Emitter<'t> {
    pub(super) fn node(&mut self, node: NodeRef<'t>, plan: NodePlan) -> Result<(), EditError> {
        match plan.action {
            NodeAction::SetValue(value) => self.change_value(node, value),
            _ if plan.is_kept() => Ok(()),
            _ => self.collection(node, plan),
        }
    }

    /// Changes the value of `node`; parts that are equal stay unchanged.
    fn change_value(&mut self, node: NodeRef<'t>, value: Value) -> Result<(), EditError> {
        if has_value(node, &value) {
            return Ok(());
        }
        match (node.kind(), value) {
            (Kind::Mapping, Value::Map(entries)) if can_diff(node, &entries) => {
                self.collection(node, diff_entries(node, entries))
            }
            (Kind::Sequence, Value::Seq(items))
                if node.items().len() > 0 && !items.is_empty() && node.tag().is_none() =>
            {
                self.collection(node, diff_items(node, items))
            }
            (_, value) => self.replace_value(node, &value),
        }
    }

    fn collection(&mut self, node: NodeRef<'t>, mut plan: NodePlan) -> Result<(), EditError> {
        reuse_removed(&mut plan, child_count(node), node.kind() == Kind::Sequence);
        if plan.keeps_children() {
            return self.only_children(node, plan);
        }
        let children = children(node);
        let of_kind = |is_wanted: fn(&NodePlan) -> bool| -> Vec<usize> {
            plan.children
                .iter()
                .filter(|(_, child)| is_wanted(child))
                .map(|(&index, _)| index)
                .collect()
        };
        let removed = of_kind(|child| matches!(child.action, NodeAction::Remove));
        let blocks = of_kind(NodePlan::may_write_block);
        if removed.len() == children.len() {
            return self.replace_children(node, plan.added);
        }
        let last = (0..children.len()).rfind(|index| removed.binary_search(index).is_err());
        let mut added = plan.added;
        let first = added
            .extract_if(.., |addition| {
                addition.position == Some(InsertPosition::First)
            })
            .collect();
        self.insert(node, &children, InsertPosition::First, first)?;
        for (index, child) in children.iter().enumerate() {
            if let Some(plan) = plan.children.remove(&index) {
                self.child(child, plan)?;
            }
            let is_here = |addition: &mut Addition| match addition.position {
                Some(position) => position == InsertPosition::After(index),
                None => last == Some(index),
            };
            let after = added.extract_if(.., is_here).collect();
            self.insert(node, &children, InsertPosition::After(index), after)?;
        }
        self.remove(node, &children, &removed, &blocks)
    }

    /// Edits within entries or items. Only those that change are visited, because a list may have thousands of items.
    fn only_children(&mut self, node: NodeRef<'t>, plan: NodePlan) -> Result<(), EditError> {
        for (index, plan) in plan.children {
            if let Some(child) = nth_child(node, index) {
                self.child(&child, plan)?;
            }
        }
        Ok(())
    }

    /// Replaces a collection that had no entries, or keeps none, by `added`.
    fn replace_children(
        &mut self,
        node: NodeRef<'t>,
        added: Vec<Addition>,
    ) -> Result<(), EditError> {
        if node.kind() == Kind::Mapping {
            let entries = added
                .into_iter()
                .map(|addition| (addition.key.unwrap_or_default(), addition.value));
            self.replace_value(node, &Value::Map(entries.collect()))
        } else {
            let items = added.into_iter().map(|addition| addition.value);
            self.replace_value(node, &Value::Seq(items.collect()))
        }
    }

    fn child(&mut self, child: &Child<'t>, plan: NodePlan) -> Result<(), EditError> {
        match plan.action {
            NodeAction::Remove => Ok(()),
            NodeAction::Rename(key, value) => {
                if let Some(old) = child.key {
                    self.rename(old, &key);
                }
                self.change_value(child.value, value)
            }
            _ => self.node(child.value, plan),
        }
    }

    fn rename(&mut self, key: NodeRef<'t>, name: &str) {
        let text = string(name, key.style(), self.context(key));
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

/// Collector of the edits of a document.
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

    /// Records an edit. Edits at the same position keep the order in which they are recorded.
    pub(super) fn edit(&mut self, start: usize, end: usize, text: impl Into<String>) {
        self.edits.push(Edit {
            span: Span::new(start, end),
            text: text.into(),
        });
    }

    /// Returns the number of recorded edits.
    pub(super) const fn edit_count(&self) -> usize {
        self.edits.len()
    }

    /// Returns the spans of the edits after the first `count`.
    pub(super) fn edits_since(&self, count: usize) -> impl Iterator<Item = Span> {
        self.edits.iter().skip(count).map(|edit| edit.span)
    }

    /// Sorts the edits, insertions first, and joins adjacent edits.
    ///
    /// # Errors
    /// [`EditError`] if two edits overlap.
    pub(super) fn finish(mut self) -> Result<Vec<Edit>, EditError> {
        self.edits.sort_by_key(|edit| edit.span);
        let mut joined: Vec<Edit> = Vec::with_capacity(self.edits.len());
        for edit in std::mem::take(&mut self.edits) {
            match joined.last_mut() {
                Some(last) if edit.span.start < last.span.end => {
                    return Err(EditError {
                        offset: edit.span.start,
                        reason: "two changes edit the same text".to_owned(),
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

    /// Removes the line break after removed lines, or before new lines, at the start of the document.
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

    /// Removes the line break before new lines that replace the last lines of a file.
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
}
