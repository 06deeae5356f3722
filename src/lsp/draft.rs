//! The text of a document while it is not valid YAML, and its relation to the last valid text.

use std::sync::Arc;

use crate::yaml::Span;

/// The text of a document that is not valid YAML, which is usual while it is typed. Its last valid text is checked
/// instead, so results are moved between the lines that both texts have in common.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    /// The text that the client shows.
    pub(super) text: Arc<str>,
    /// The length of the whole lines that both texts start with.
    head: usize,
    /// The length of the whole lines that both texts end with.
    tail: usize,
    /// The length of the text that is checked.
    checked: usize,
}

impl Draft {
    /// Compares a text with the text that is checked.
    pub(super) fn new(checked: &str, text: Arc<str>) -> Self {
        let (old, new) = (checked.as_bytes(), text.as_bytes());
        let pairs = old.iter().zip(new);
        let same = pairs.take_while(|(one, other)| one == other).count();
        let head = old
            .get(..same)
            .and_then(|same| memchr::memrchr(b'\n', same));
        let head = head.map_or(0, |end| end + 1);
        let tail = common_end(
            old.get(head..).unwrap_or_default(),
            new.get(head..).unwrap_or_default(),
        );
        Self {
            head,
            tail,
            checked: checked.len(),
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
        let after = self.text.len() - self.tail;
        let end = self.shown_offset(span.end).unwrap_or(after);
        Span::new(start, end.max(start))
    }

    fn moved(&self, offset: usize, from: usize, to: usize) -> Option<usize> {
        if offset < self.head {
            return Some(offset);
        }
        // The end of a text is on its last line, which may differ.
        let before_end = from.checked_sub(offset)?;
        let is_in_tail = before_end <= self.tail && self.tail > 0;
        is_in_tail.then(|| to - before_end)
    }
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
        assert!(moved("a", "").is_empty());
        assert!(moved("", "a").is_empty());
    }

    #[test]
    fn a_span_around_lines_that_differ_grows_with_them() {
        let draft = Draft::new("a\nb\nc\nd\n", "a\nb: [\nx\nc\nd\n".into());
        let shown = |start, end| {
            draft
                .shown_span(Span::new(start, end))
                .slice(&draft.text)
                .to_owned()
        };
        assert_eq!(shown(0, 5), "a\nb: [\nx\nc");
        assert_eq!(shown(2, 3), "b: [\nx\n");
        assert_eq!(shown(3, 7), "b: [\nx\nc\nd");
    }
}
