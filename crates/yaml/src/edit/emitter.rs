//! Collects the edits of a document.

use std::cell::OnceCell;

use super::layout::Layout;
use super::lines::Lines;
use crate::span::Span;
use crate::text_edit::{Edit, EditError};
use crate::tree::Tree;

/// Collector of the edits of a document.
pub(super) struct Emitter<'t> {
    tree: &'t Tree,
    pub(super) lines: Lines<'t>,
    layout: OnceCell<Layout>,
    edits: Vec<Edit>,
    pub(super) scalar_end_guard: Option<ScalarEndGuard>,
}

impl<'t> Emitter<'t> {
    pub(super) fn new(tree: &'t Tree) -> Self {
        Self {
            tree,
            lines: Lines::new(tree.text(), tree.segment()),
            layout: OnceCell::new(),
            edits: Vec::new(),
            scalar_end_guard: None,
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
        if let Some(guard) = self.scalar_end_guard.take() {
            let apart = |edit: &Edit| {
                edit.span.end <= guard.scalar.start || edit.span.start >= guard.scalar.end
            };
            if self.edits.iter().all(apart) {
                self.edits.push(guard.header);
            }
        }
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

/// Edit that keeps the value of a block scalar at the end of a file if text is inserted after it.
#[derive(Clone, Debug)]
pub(super) struct ScalarEndGuard {
    /// The span of the scalar. The edit is not needed if the scalar itself is edited.
    pub(super) scalar: Span,
    /// The edit of its header, so that the value ends without a line break.
    pub(super) header: Edit,
}
