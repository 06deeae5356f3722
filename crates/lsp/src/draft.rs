//! The text of a document while it is not valid YAML, and its relation to the last valid text.

use std::sync::Arc;

use gen_lsp_types::{Position, Range};
use meshprobe_tree::source::SourceFile;
use meshprobe_yaml::Span;

use super::encoding::{Encoding, Lines};

/// The text of a document that is not valid YAML, which is usual while it is typed. Its last valid text is checked
/// instead, so results are moved between the whole lines that both texts start and end with.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    /// The text that the client shows.
    pub(super) text: Arc<str>,
    /// The length of the text that is checked.
    checked: usize,
    /// The length of the lines that both texts start with.
    head: usize,
    /// The length of the lines that both texts end with.
    tail: usize,
}

impl Draft {
    /// Compares a text with the text that is checked.
    pub(super) fn new(checked: &str, text: Arc<str>) -> Self {
        let (old, new) = (checked.as_bytes(), text.as_bytes());
        let head = common_start(old, new);
        let (old, new) = (old.get(head..), new.get(head..));
        Self {
            tail: common_end(old.unwrap_or_default(), new.unwrap_or_default()),
            checked: checked.len(),
            head,
            text,
        }
    }

    /// Returns the offset in the text that is checked; `None` on a line that differs.
    pub(super) fn checked_offset(&self, offset: usize) -> Option<usize> {
        self.moved(offset, self.text.len(), self.checked)
    }

    /// Returns the offset in the text that the client shows; `None` on a line that differs.
    pub(super) fn shown_offset(&self, offset: usize) -> Option<usize> {
        self.moved(offset, self.checked, self.text.len())
    }

    /// Returns a span of the text that is checked as one of the text that the client shows. An end that is on a line that
    /// differs is moved to the edge of these lines.
    pub(super) fn shown_span(&self, span: Span) -> Span {
        let start = self.shown_offset(span.start).unwrap_or(self.head);
        let end = self
            .shown_offset(span.end)
            .unwrap_or(self.text.len() - self.tail);
        Span::new(start, end.max(start))
    }

    /// Moves an offset from a text of the length `from` to one of the length `to`.
    fn moved(&self, offset: usize, from: usize, to: usize) -> Option<usize> {
        let (head, tail) = (self.head, self.tail);
        // The end of a text is on its last line, which may differ.
        if offset < head || offset == head && head == from && head > 0 {
            return Some(offset);
        }
        let is_in_tail = tail > 0 && (from - tail..=from).contains(&offset);
        is_in_tail.then(|| offset + to - from)
    }
}

/// Returns the length of the whole lines that two texts start with.
fn common_start(one: &[u8], other: &[u8]) -> usize {
    let pairs = one.iter().zip(other);
    let same = pairs.take_while(|(one, other)| one == other).count();
    let common = one.get(..same).unwrap_or_default();
    memchr::memrchr(b'\n', common).map_or(0, |end| end + 1)
}

/// Returns the length of the whole lines that two texts end with.
fn common_end(one: &[u8], other: &[u8]) -> usize {
    let pairs = one.iter().rev().zip(other.iter().rev());
    let same = pairs.take_while(|(one, other)| one == other).count();
    let starts_line = |text: &[u8]| {
        let start = text.len() - same;
        start == 0 || text.get(start - 1) == Some(&b'\n')
    };
    if starts_line(one) && starts_line(other) {
        return same;
    }
    let common = one.get(one.len() - same..).unwrap_or_default();
    memchr::memchr(b'\n', common).map_or(0, |end| same - end - 1)
}

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

#[cfg(test)]
mod tests {
    use super::*;

    fn moved(checked: &str, shown: &str) -> Vec<String> {
        let draft = Draft::new(checked, shown.into());
        let mut at = 0;
        let mut lines = Vec::new();
        for line in shown.split_inclusive('\n') {
            if let Some(offset) = draft.checked_offset(at) {
                let found = checked.get(offset..).unwrap();
                assert!(found.starts_with(line), "{line:?}");
                assert_eq!(draft.shown_offset(offset), Some(at));
                lines.push(line.trim_end().to_owned());
            }
            at += line.len();
        }
        lines
    }

    #[test]
    fn lines_that_both_texts_have_are_moved() {
        assert_eq!(moved("a\nb\nc\n", "a\nb [\nc\n"), ["a", "c"]);
        assert_eq!(moved("a\nb\nc\n", "a\nx\nb\nc\n"), ["a", "b", "c"]);
        assert_eq!(moved("a\nb\nc\n", "a\nc\n"), ["a", "c"]);
        assert_eq!(moved("a\nb\nc", "a\nb\nc]"), ["a", "b"]);
        assert_eq!(moved("xa\nb\n", "ya\nb\n"), ["b"]);
        assert_eq!(moved("a\na\n", "a\na\na\n"), ["a", "a"]);
        assert_eq!(moved("ü\nb", "ö\nb"), ["b"]);
        assert_eq!(moved("a\nb\nc\nd\n", "a\nx\nc\n[\nd\n"), ["a", "d"]);
        assert!(moved("a", "").is_empty());
        assert!(moved("", "a").is_empty());
    }

    fn shown(draft: &Draft, start: usize, end: usize) -> &str {
        draft.shown_span(Span::new(start, end)).slice(&draft.text)
    }

    #[test]
    fn a_span_around_lines_that_differ_grows_with_them() {
        let draft = Draft::new("a\nb\nc\nd\n", "a\nb: [\nx\nc\nd\n".into());
        assert_eq!(shown(&draft, 0, 5), "a\nb: [\nx\nc");
        assert_eq!(shown(&draft, 2, 3), "b: [\nx\n");
        assert_eq!(shown(&draft, 3, 7), "b: [\nx\nc\nd");
    }
}
