//! Puts new entries and items into block collections.

use super::emit::{Child, Emitter, last_leaf};
use super::fate::{Addition, Place};
use super::layout::{self, dash_width};
use super::write::{Follow, Owner, Writer};
use super::{Edit, EditError};
use crate::yaml::span::Span;
use crate::yaml::tree::{Kind, NodeRef, Style};

impl<'t> Emitter<'t> {
    pub(super) fn insert(
        &mut self,
        node: NodeRef<'t>,
        children: &[Child<'t>],
        place: Place,
        added: Vec<Addition>,
    ) -> Result<(), EditError> {
        if added.is_empty() {
            return Ok(());
        }
        if node.style() == Style::Flow {
            if !node.source().starts_with(['{', '[']) {
                return Err(EditError {
                    offset: node.span().start,
                    reason: "a pair without braces cannot take another entry".to_owned(),
                });
            }
            self.insert_flow(node, children, place, &added);
            return Ok(());
        }
        match place {
            Place::First => self.insert_first(node, children, &added),
            Place::After(index) => {
                if let Some(child) = children.get(index) {
                    self.insert_behind(node, child, &added);
                }
            }
        }
        Ok(())
    }

    /// Inserts lines behind the last line of `child` and the comments that belong to it: those
    /// below stay below.
    fn insert_behind(&mut self, node: NodeRef<'t>, child: &Child<'t>, added: &[Addition]) {
        self.seal(child.value);
        let column = self.own_column(child);
        let at = self.behind(child.span().end, column, false);
        self.insert_lines(node, at, added);
    }

    fn insert_lines(&mut self, node: NodeRef<'t>, at: usize, added: &[Addition]) {
        let writer = self.writer(node, at, self.follow(at));
        let column = self.column(node);
        let mut text = String::new();
        for addition in added {
            text.push_str(writer.eol);
            text.push_str(&" ".repeat(column));
            text.push_str(&self.addition(node, &writer, column, addition));
        }
        self.edit(at, at, text);
    }

    /// Inserts before all children: below the key of the collection where it has lines of its
    /// own, so that a comment above the first child stays with that child.
    fn insert_first(&mut self, node: NodeRef<'t>, children: &[Child<'t>], added: &[Addition]) {
        let Some(first) = children.first() else {
            return;
        };
        let start = self.child_start(first);
        if let Some(slot) = self.slot(node) {
            let rest = self.lines.rest(slot.head).trim_start_matches([' ', '\t']);
            let below = self.lines.end(slot.head) < self.lines.start(start);
            if below && (rest.is_empty() || rest.starts_with('#')) {
                return self.insert_lines(node, self.lines.end(slot.head), added);
            }
        }
        let follow = Follow {
            comment: None,
            terminated: true,
        };
        let writer = self.writer(node, start, follow);
        let column = self.column(node);
        let mut text = String::new();
        for addition in added {
            text.push_str(&self.addition(node, &writer, column, addition));
            text.push_str(writer.eol);
            text.push_str(&" ".repeat(column));
        }
        self.edit(start, start, text);
    }

    fn addition(
        &self,
        node: NodeRef<'t>,
        writer: &Writer,
        column: usize,
        addition: &Addition,
    ) -> String {
        match &addition.key {
            Some(key) => writer.entry(key, &addition.value, column),
            None => {
                let width = node
                    .items()
                    .rev()
                    .find_map(|item| dash_width(self.lines, item));
                let width = width.unwrap_or(self.layout().dash);
                writer.item(&addition.value, column, width)
            }
        }
    }

    /// Returns where a child starts: at its key or its dash.
    pub(super) fn child_start(&self, child: &Child<'t>) -> usize {
        match child.key {
            Some(key) => key.outer_span().start,
            None => child.value.indicator().unwrap_or(child.span().start),
        }
    }

    /// Returns the column of the children of a block collection.
    pub(super) fn column(&self, node: NodeRef<'t>) -> usize {
        match node.item(0).and_then(NodeRef::indicator) {
            Some(dash) => self.lines.column(dash),
            None => layout::column(self.lines, node),
        }
    }

    /// Makes a writer for text at `at` in or below `node`.
    pub(super) fn writer(&self, node: NodeRef<'t>, at: usize, follow: Follow) -> Writer {
        Writer {
            layout: self.layout(),
            offset: self.offset_near(node).unwrap_or(self.layout().offset),
            eol: self.lines.eol(at),
            follow,
        }
    }

    /// Returns how far the sequences of the nearest mapping are indented.
    fn offset_near(&self, node: NodeRef<'t>) -> Option<usize> {
        let mapping = std::iter::successors(Some(node), |node| node.parent())
            .find(|node| node.kind() == Kind::Mapping)?;
        let column = layout::column(self.lines, mapping);
        mapping
            .entries()
            .map(|entry| entry.value)
            .filter(|value| value.kind() == Kind::Sequence && value.style() == Style::Block)
            .find_map(|sequence| self.column(sequence).checked_sub(column))
    }

    /// Reads what stands behind an insertion at the line end `at`.
    pub(super) fn follow(&self, at: usize) -> Follow {
        let mut line = self.lines.next(at);
        while self.lines.rest_is_blank(line) && self.lines.next(line) > line {
            line = self.lines.next(line);
        }
        let text = self.lines.rest(line);
        let indent = text.len() - text.trim_start_matches([' ', '\t']).len();
        let is_comment = text.trim_start_matches([' ', '\t']).starts_with('#');
        Follow {
            comment: is_comment.then_some(indent),
            terminated: self.lines.is_terminated(at),
        }
    }

    /// A block scalar that the end of the file cuts off would gain a line break from text behind
    /// it: its header is made to say what its value is.
    pub(super) fn seal(&mut self, node: NodeRef<'t>) {
        let leaf = last_leaf(node);
        let cut_off = !self.lines.is_terminated(leaf.span().end);
        if !cut_off || !matches!(leaf.style(), Style::Literal | Style::Folded) {
            return;
        }
        let header = leaf
            .source()
            .split(char::is_whitespace)
            .next()
            .unwrap_or_default();
        if !header.contains('-') {
            let start = leaf.span().start;
            self.seal = Some(Seal {
                scalar: leaf.span(),
                header: Edit {
                    span: Span::new(start, start + header.len()),
                    text: format!("{}-", header.replace('+', "")),
                },
            });
        }
    }

    /// Describes what a value in block layout hangs on; `None` for the root and in brackets.
    pub(super) fn slot(&self, node: NodeRef<'t>) -> Option<Slot> {
        let parent = node.parent().filter(|p| p.style() == Style::Block)?;
        let column = self.column(parent);
        let (head, owner) = if parent.kind() == Kind::Sequence {
            let width = dash_width(self.lines, node).or_else(|| {
                parent
                    .items()
                    .rev()
                    .find_map(|item| dash_width(self.lines, item))
            });
            let width = width.unwrap_or(self.layout().dash);
            (node.indicator()? + 1, Owner::dash(column, width))
        } else {
            (node.indicator()?, Owner::key(column))
        };
        let head = node.anchor_span().map_or(head, |anchor| anchor.end);
        Some(Slot { head, owner })
    }
}

/// A block scalar at the very end of a file that would change with text behind it.
#[derive(Clone, Debug)]
pub(super) struct Seal {
    /// The scalar, needless where it is edited itself.
    pub(super) scalar: Span,
    /// What makes its header say that it ends without line break.
    pub(super) header: Edit,
}

/// The place of a value in block layout.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    /// Behind the `:` or `-`, and behind the anchor.
    pub(super) head: usize,
    pub(super) owner: Owner,
}
