//! Takes entries and items away.

use super::EditError;
use super::emit::{Child, Emitter, last_leaf};
use crate::yaml::tree::{Kind, NodeRef, Style};

impl<'t> Emitter<'t> {
    /// Removes children, but never all of them. The same edit may write block scalars to those in `blocks`.
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
            let next = children.get(index + 1);
            let next = next.filter(|_| removed.binary_search(&(index + 1)).is_err());
            let above = (0..index).rfind(|above| removed.binary_search(above).is_err());
            let is_written = above.is_some_and(|above| blocks.binary_search(&above).is_ok());
            let above = above.and_then(|above| children.get(above));
            let above = above.map(|above| (last_leaf(above.value), is_written));
            if let Some(child) = children.get(index) {
                self.remove_block(child, above, next)?;
            }
        }
        Ok(())
    }

    /// `above` is the end of the child above that is not removed, and whether the same edit may write a block scalar to
    /// that child.
    fn remove_block(
        &mut self,
        child: &Child<'t>,
        above: Option<(NodeRef<'t>, bool)>,
        next: Option<&Child<'t>>,
    ) -> Result<(), EditError> {
        let start = self.child_start(child);
        let end = child.span().end;
        if self.lines.leads(start) {
            let may_be_block =
                above.is_some_and(|(leaf, is_written)| is_written || is_block_scalar(leaf));
            if above.is_some() && !may_be_block {
                self.cut_lines_and_break(start, end);
            } else {
                self.cut_lines(start, end);
            }
            let keeps = above.is_some_and(|(leaf, _)| keeps_lines(leaf));
            // Below a block scalar a comment would become text of it.
            let column = if may_be_block {
                self.lines.column(start)
            } else {
                self.own_column(child)
            };
            let behind = self.behind(end, column, keeps);
            if behind > self.lines.end(end) {
                self.edit(self.lines.end(end), behind, "");
            }
            return Ok(());
        }
        let before = self.lines.slice(self.lines.start(start), start);
        let before = before.trim_end_matches([' ', '\t']);
        if !before.ends_with('-') {
            return Err(EditError {
                offset: start,
                reason: "an entry with other text before it in its line cannot be removed".into(),
            });
        }
        match next.map(|next| self.child_start(next)) {
            Some(next) if self.lines.start(next) == self.lines.next(end) => {
                self.edit(start, next, "");
            }
            // Comments stand between: the dash stays alone.
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
    /// Removes the lines from `start` to `end` with the line break before them, so that the end
    /// of the last line stays free for what comes behind. At the end of a file without final
    /// line break that break stays: a block scalar above may need it. At the start there is none.
    pub(super) fn cut_lines(&mut self, start: usize, end: usize) {
        let first = self.lines.start(start);
        let last = self.lines.end(end);
        match self.lines.before(first) {
            Some(previous) if self.lines.is_terminated(end) => self.edit(previous, last, ""),
            _ => self.edit(first, last, ""),
        }
    }

    /// The same where no block scalar stands above: a file without final line break stays one.
    fn cut_lines_and_break(&mut self, start: usize, end: usize) {
        let first = self.lines.start(start);
        let previous = self.lines.before(first).unwrap_or(first);
        self.edit(previous, self.lines.end(end), "");
    }

    /// Returns the column that comments below a child have to pass to belong to it. Those below a
    /// single value belong to nobody.
    pub(super) fn own_column(&self, child: &Child<'_>) -> usize {
        match child.value.kind() {
            Kind::Scalar | Kind::Alias => usize::MAX,
            Kind::Mapping | Kind::Sequence => self.lines.column(self.child_start(child)),
        }
    }

    /// Returns the end of the last line that goes together with the lines up to `end`. Comments
    /// deeper than `column` belong to it; so do empty lines that a block scalar above would keep.
    pub(super) fn behind(&self, end: usize, column: usize, keeps_above: bool) -> usize {
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

/// Tells whether a block scalar keeps all empty lines below it.
fn keeps_lines(leaf: NodeRef<'_>) -> bool {
    let header = leaf
        .source()
        .split(char::is_whitespace)
        .next()
        .unwrap_or_default();
    is_block_scalar(leaf) && header.contains('+')
}
