//! Removal of entries and items.

use super::children::{Child, last_leaf};
use super::emitter::Emitter;
use crate::text_edit::EditError;
use crate::tree::{Kind, NodeRef, Style};

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
