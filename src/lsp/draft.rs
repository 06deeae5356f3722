//! The text of a document while it is not valid YAML, and its relation to the last valid text.

use std::sync::Arc;

use similar::{Algorithm, DiffOp, DiffTag, capture_diff_slices};

use crate::yaml::Span;

/// The maximum number of differing lines of a text that are compared with those of the other one.
const COMPARED: usize = 2_000;

/// The text of a document that is not valid YAML, which is usual while it is typed. Its last valid text is checked
/// instead, so results are moved between the lines that both texts have in common.
#[derive(Clone, Debug)]
pub(super) struct Draft {
    /// The text that the client shows.
    pub(super) text: Arc<str>,
    /// The whole lines that both texts have in common, in their order.
    blocks: Vec<Block>,
    /// The length of the text that is checked.
    checked: usize,
}

/// Adjacent lines that two texts have in common.
#[derive(Clone, Copy, Debug)]
struct Block {
    /// The offset in the text that is checked.
    checked: usize,
    /// The offset in the text that the client shows.
    shown: usize,
    length: usize,
}

impl Draft {
    /// Compares a text with the text that is checked.
    pub(super) fn new(checked: &str, text: Arc<str>) -> Self {
        let head = common_start(checked.as_bytes(), text.as_bytes());
        let (old, new) = (
            checked.get(head..).unwrap_or_default(),
            text.get(head..).unwrap_or_default(),
        );
        let tail = common_end(old.as_bytes(), new.as_bytes());
        let block = |(checked, shown), length| Block {
            checked,
            shown,
            length,
        };
        let start = block((0, 0), head);
        let end = block((checked.len() - tail, text.len() - tail), tail);
        let old = old.get(..old.len() - tail).unwrap_or_default();
        let new = new.get(..new.len() - tail).unwrap_or_default();
        let between = common_lines(old, new).into_iter().map(|inner| Block {
            checked: head + inner.checked,
            shown: head + inner.shown,
            ..inner
        });
        let blocks = std::iter::once(start).chain(between).chain([end]);
        Self {
            blocks: blocks.filter(|block| block.length > 0).collect(),
            checked: checked.len(),
            text,
        }
    }

    /// Returns the offset in the text that is checked; `None` on a line that differs.
    pub(super) fn checked_offset(&self, offset: usize) -> Option<usize> {
        let block = self.block_at(|block| block.shown, offset, self.text.len())?;
        Some(block.checked + (offset - block.shown))
    }

    /// Returns the offset in the text that the client shows; `None` on a line that differs.
    pub(super) fn shown_offset(&self, offset: usize) -> Option<usize> {
        let block = self.block_at(|block| block.checked, offset, self.checked)?;
        Some(block.shown + (offset - block.checked))
    }

    /// Returns a span of the text that is checked as one of the text that the client shows. An end that is on a line that
    /// differs is moved to the edge of these lines.
    pub(super) fn shown_span(&self, span: Span) -> Span {
        let start = self.shown_offset(span.start);
        let start = start.unwrap_or_else(|| {
            let mut before = self.blocks.iter().rev();
            let before = before.find(|block| block.checked <= span.start);
            before.map_or(0, |block| block.shown + block.length)
        });
        let end = self.shown_offset(span.end);
        let end = end.unwrap_or_else(|| {
            let mut after = self.blocks.iter();
            let after = after.find(|block| block.checked > span.end);
            after.map_or(self.text.len(), |block| block.shown)
        });
        Span::new(start, end.max(start))
    }

    /// Returns the block that contains an offset of one of the texts, which starts there at `start` and has this length.
    fn block_at(
        &self,
        start: impl Fn(&Block) -> usize,
        offset: usize,
        length: usize,
    ) -> Option<&Block> {
        let last = self.blocks.partition_point(|block| start(block) <= offset);
        let block = self.blocks.get(last.checked_sub(1)?)?;
        let end = start(block) + block.length;
        // The end of a text is on its last line, which may differ.
        (offset < end || offset == end && end == length).then_some(block)
    }
}

/// Returns the lines that two texts have in common, as a comparison of files finds them; nothing for long texts.
fn common_lines(one: &str, other: &str) -> Vec<Block> {
    let one: Vec<&str> = one.split_inclusive('\n').collect();
    let other: Vec<&str> = other.split_inclusive('\n').collect();
    if one.len().max(other.len()) > COMPARED {
        return Vec::new();
    }
    let length = |lines: &[&str]| lines.iter().map(|line| line.len()).sum::<usize>();
    let block = |operation: DiffOp| {
        let (DiffTag::Equal, same, moved) = operation.as_tag_tuple() else {
            return None;
        };
        Some(Block {
            checked: length(one.get(..same.start)?),
            shown: length(other.get(..moved.start)?),
            length: length(one.get(same)?),
        })
    };
    let operations = capture_diff_slices(Algorithm::Patience, &one, &other);
    operations.into_iter().filter_map(block).collect()
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
        assert_eq!(moved("a\nb\nc\n", "x\nb\ny\n"), ["b"]);
        assert_eq!(moved("a\nb\nc\nd\ne\n", "x\ny\nb\nz\nd\n[\n"), ["b", "d"]);
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
        let draft = Draft::new("a\nb\nc\nd\n", "x\nb\ny\nd\nz\n".into());
        assert_eq!(shown(&draft, 0, 2), "x\n");
        assert_eq!(shown(&draft, 2, 5), "b\ny\n");
    }
}
