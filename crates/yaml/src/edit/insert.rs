//! Insertion and removal of entries.

use super::emit::{Child, Emitter, last_leaf};
use super::layout;
use super::layout::dash_width;
use super::node_plan::{Addition, InsertPosition};
use super::writer::{TextAfter, ValueAnchor, Writer};
use crate::span::EditError;
use crate::tree::{Kind, NodeRef, Style};

impl<'t> Emitter<'t> {
    pub(super) fn insert(
        &mut self,
        node: NodeRef<'t>,
        children: &[Child<'t>],
        position: InsertPosition,
        added: Vec<Addition>,
    ) -> Result<(), EditError> {
        if added.is_empty() {
            return Ok(());
        }
        if node.style() == Style::Flow {
            if !node.source().starts_with(['{', '[']) {
                return Err(EditError {
                    offset: node.span().start,
                    reason: "cannot add an entry to a pair without braces".to_owned(),
                });
            }
            self.insert_flow(node, children, position, &added);
            return Ok(());
        }
        match position {
            InsertPosition::First => self.insert_first(node, children, &added),
            InsertPosition::After(index) => {
                if let Some(child) = children.get(index) {
                    self.insert_after(node, child, &added);
                }
            }
        }
        Ok(())
    }

    /// Inserts lines after the last line of `child` and the comments that belong to it. Other comments stay below the
    /// inserted lines.
    fn insert_after(&mut self, node: NodeRef<'t>, child: &Child<'t>, added: &[Addition]) {
        let column = self.comment_column(child);
        let at = self.end_with_comments(child.span().end, column, false);
        self.insert_lines(node, at, added);
    }

    fn insert_lines(&mut self, node: NodeRef<'t>, at: usize, added: &[Addition]) {
        let writer = self.writer(node, at, self.text_after(at));
        let column = self.column(node);
        let mut text = String::new();
        for addition in added {
            text.push_str(writer.eol);
            text.push_str(&" ".repeat(column));
            text.push_str(&self.addition(node, &writer, column, addition));
        }
        self.edit(at, at, text);
    }

    /// Inserts entries or items before all children. If the collection starts on a line below its key, they are
    /// inserted directly below the key, so that a comment above the first child stays with that child.
    fn insert_first(&mut self, node: NodeRef<'t>, children: &[Child<'t>], added: &[Addition]) {
        let Some(first) = children.first() else {
            return;
        };
        let start = self.child_start(first);
        if let Some(slot) = self.slot(node) {
            let rest = self
                .lines
                .rest(slot.end_of_indicator)
                .trim_start_matches([' ', '\t']);
            let below = self.lines.end(slot.end_of_indicator) < self.lines.start(start);
            if below && (rest.is_empty() || rest.starts_with('#')) {
                return self.insert_lines(node, self.lines.end(slot.end_of_indicator), added);
            }
        }
        let text_after = TextAfter {
            comment: None,
            terminated: true,
        };
        let writer = self.writer(node, start, text_after);
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

    /// Returns the start of a child: its key or its dash.
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

    /// Returns a writer for text at `at` in or below `node`.
    pub(super) fn writer(&self, node: NodeRef<'t>, at: usize, text_after: TextAfter) -> Writer {
        Writer {
            layout: self.layout(),
            offset: self.offset_near(node).unwrap_or(self.layout().offset),
            eol: self.lines.eol(at),
            text_after,
        }
    }

    /// Returns the indentation of the sequences of the nearest mapping.
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

    /// Returns the context after an insertion at the line end `at`.
    pub(super) fn text_after(&self, at: usize) -> TextAfter {
        let mut line = self.lines.next(at);
        while self.lines.rest_is_blank(line) && self.lines.next(line) > line {
            line = self.lines.next(line);
        }
        let text = self.lines.rest(line);
        let indent = text.len() - text.trim_start_matches([' ', '\t']).len();
        let is_comment = text.trim_start_matches([' ', '\t']).starts_with('#');
        TextAfter {
            comment: is_comment.then_some(indent),
            terminated: self.lines.is_terminated(at),
        }
    }

    /// Returns the slot of a value in block layout; `None` for the root and in brackets.
    pub(super) fn slot(&self, node: NodeRef<'t>) -> Option<Slot> {
        let parent = node.parent().filter(|p| p.style() == Style::Block)?;
        let column = self.column(parent);
        let (end_of_indicator, value_anchor) = if parent.kind() == Kind::Sequence {
            let width = dash_width(self.lines, node).or_else(|| {
                parent
                    .items()
                    .rev()
                    .find_map(|item| dash_width(self.lines, item))
            });
            let width = width.unwrap_or(self.layout().dash);
            (node.indicator()? + 1, ValueAnchor::dash(column, width))
        } else {
            (node.indicator()?, ValueAnchor::key(column))
        };
        let end_of_indicator = node
            .anchor_span()
            .map_or(end_of_indicator, |anchor| anchor.end);
        Some(Slot {
            end_of_indicator,
            value_anchor,
        })
    }
}

/// Position of a value in block layout.
#[derive(Clone, Copy, Debug)]
pub(super) struct Slot {
    /// The offset after the `:` or `-` and after the anchor.
    pub(super) end_of_indicator: usize,
    pub(super) value_anchor: ValueAnchor,
}

impl<'t> Emitter<'t> {
    /// Removes the children with the indices `removed`, but never all of them. The same plan may write block scalars to
    /// the children with the indices `blocks`.
    ///
    /// # Errors
    /// [`EditError`] for an entry that follows other text on its line.
    pub(super) fn remove(
        &mut self,
        node: NodeRef<'t>,
        children: &[Child<'t>],
        removed: &[usize],
        blocks: &[usize],
    ) -> Result<(), EditError> {
        if node.style() == Style::Flow {
            self.remove_flow(node, children, removed);
            return Ok(());
        }
        for &index in removed {
            let next = children
                .get(index + 1)
                .filter(|_| removed.binary_search(&(index + 1)).is_err());
            let above = (0..index).rfind(|above| removed.binary_search(above).is_err());
            let is_written = above.is_some_and(|above| blocks.binary_search(&above).is_ok());
            let above = above
                .and_then(|above| children.get(above))
                .map(|above| (last_leaf(above.value), is_written));
            if let Some(child) = children.get(index) {
                self.remove_block(child, above, next)?;
            }
        }
        Ok(())
    }

    /// Removes a child of a block collection. `above` is the last leaf of the nearest child above that is not removed,
    /// and whether the same plan may write a block scalar to that child.
    fn remove_block(
        &mut self,
        child: &Child<'t>,
        above: Option<(NodeRef<'t>, bool)>,
        next: Option<&Child<'t>>,
    ) -> Result<(), EditError> {
        let start = self.child_start(child);
        let end = child.span().end;
        if self.lines.is_line_start(start) {
            let may_be_block =
                above.is_some_and(|(leaf, is_written)| is_written || is_block_scalar(leaf));
            if above.is_some() && !may_be_block {
                self.cut_lines_and_break(start, end);
            } else {
                self.cut_lines(start, end);
            }
            let keeps = above.is_some_and(|(leaf, _)| keeps_lines(leaf));
            // A comment below a block scalar would become a part of it.
            let column = if may_be_block {
                self.lines.column(start)
            } else {
                self.comment_column(child)
            };
            let last = self.end_with_comments(end, column, keeps);
            if last > self.lines.end(end) {
                self.edit(self.lines.end(end), last, "");
            }
            return Ok(());
        }
        let before = self.lines.slice(self.lines.start(start), start);
        let before = before.trim_end_matches([' ', '\t']);
        if !before.ends_with('-') {
            return Err(EditError {
                offset: start,
                reason: "cannot remove an entry that follows other text on its line".into(),
            });
        }
        match next.map(|next| self.child_start(next)) {
            Some(next) if self.lines.start(next) == self.lines.next(end) => {
                self.edit(start, next, "");
            }
            // There are comments between the children: the dash stays on its line.
            _ => self.edit(
                self.lines.start(start) + before.len(),
                self.lines.end(end),
                "",
            ),
        }
        Ok(())
    }
}

impl Emitter<'_> {
    /// Removes the lines from `start` to `end` with the line break before them, so that another edit can insert text
    /// at the end of the last line. At the end of a file without final line break, the line break before them is kept,
    /// because a block scalar above may need it. At the start of the document it does not exist.
    pub(super) fn cut_lines(&mut self, start: usize, end: usize) {
        let first = self.lines.start(start);
        let last = self.lines.end(end);
        match self.lines.before(first) {
            Some(previous) if self.lines.is_terminated(end) => self.edit(previous, last, ""),
            _ => self.edit(first, last, ""),
        }
    }

    /// Removes the lines from `start` to `end` with the line break before them, if there is no block scalar above. A
    /// file without final line break stays one.
    fn cut_lines_and_break(&mut self, start: usize, end: usize) {
        let first = self.lines.start(start);
        let previous = self.lines.before(first).unwrap_or(first);
        self.edit(previous, self.lines.end(end), "");
    }

    /// Returns the column that comments below a child must exceed to belong to it. Comments below a single value
    /// do not belong to it.
    pub(super) fn comment_column(&self, child: &Child<'_>) -> usize {
        match child.value.kind() {
            Kind::Scalar | Kind::Alias => usize::MAX,
            Kind::Mapping | Kind::Sequence => self.lines.column(self.child_start(child)),
        }
    }

    /// Returns the end of the last line that belongs to the lines up to `end`: comments deeper than `column`, and
    /// empty lines that a block scalar above would keep.
    pub(super) fn end_with_comments(&self, end: usize, column: usize, keeps_above: bool) -> usize {
        let mut last = self.lines.end(end);
        let mut line = self.lines.next(end);
        while self.lines.next(line) > line {
            let text = self.lines.rest(line);
            let indent = text.len() - text.trim_start_matches([' ', '\t']).len();
            let is_blank = text.len() == indent;
            let is_comment = text.trim_start_matches([' ', '\t']).starts_with('#');
            let is_own = is_comment && indent > column;
            if !is_blank && !is_own {
                break;
            }
            if is_own || keeps_above {
                last = self.lines.end(line);
            }
            line = self.lines.next(line);
        }
        last
    }
}

fn is_block_scalar(leaf: NodeRef<'_>) -> bool {
    matches!(leaf.style(), Style::Literal | Style::Folded)
}

/// Returns whether a block scalar keeps all empty lines below it.
fn keeps_lines(leaf: NodeRef<'_>) -> bool {
    let header = leaf
        .source()
        .split(char::is_whitespace)
        .next()
        .unwrap_or_default();
    is_block_scalar(leaf) && header.contains('+')
}
