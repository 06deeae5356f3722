//! A file, with positions in the text that the client shows.

use gen_lsp_types::{Position, Range};
use meshprobe_tree::source::SourceFile;
use meshprobe_yaml::Span;

use super::draft::Draft;
use super::encoding::{Encoding, Lines};

/// A file that was analysed, with the text that the client shows: the same, or one that is not valid YAML yet. On the
/// lines in which the texts differ, positions have no counterpart.
#[derive(Clone, Debug)]
pub(super) struct ShownFile<'s, 't: 's> {
    /// The file with the text that was analysed.
    pub(super) file: &'t SourceFile,
    draft: Option<&'s Draft>,
    lines: Lines<'s>,
}

impl<'s, 't> ShownFile<'s, 't> {
    pub(super) fn new(file: &'t SourceFile, draft: Option<&'s Draft>, encoding: Encoding) -> Self {
        let text: &'s str = draft.map_or(&file.text, |draft| &draft.text);
        Self {
            file,
            draft,
            lines: Lines::new(text, encoding),
        }
    }

    /// Returns the offset of a position in the text that was analysed.
    pub(super) fn offset(&self, position: Position) -> Option<usize> {
        let offset = self.lines.offset(position);
        match self.draft {
            Some(draft) => draft.checked_offset(offset),
            None => Some(offset),
        }
    }

    /// Returns the position of an offset in the text that was analysed.
    pub(super) fn position(&self, offset: usize) -> Option<Position> {
        let offset = match self.draft {
            Some(draft) => draft.shown_offset(offset)?,
            None => offset,
        };
        Some(self.lines.position(offset))
    }

    /// Returns the range of a span of the text that was analysed.
    pub(super) fn range(&self, span: Span) -> Option<Range> {
        Some(Range {
            start: self.position(span.start)?,
            end: self.position(span.end)?,
        })
    }
}
