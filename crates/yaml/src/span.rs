//! Positions in a text: byte ranges for the program, lines and columns for people; and edits of ranges.

/// A half-open range of bytes in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// Offset of the first byte.
    pub start: usize,
    /// Offset after the last byte.
    pub end: usize,
}

impl Span {
    /// Returns the span from `start` up to, not including, `end`.
    #[must_use]
    pub const fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }

    /// Returns the empty span at `at`.
    #[must_use]
    pub const fn empty(at: usize) -> Self {
        Self::new(at, at)
    }

    /// Returns the number of bytes covered.
    #[must_use]
    pub const fn len(self) -> usize {
        self.end.saturating_sub(self.start)
    }

    /// Returns whether the span is empty.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        self.end <= self.start
    }

    /// Returns whether `other` is completely inside this span.
    #[must_use]
    pub const fn contains(self, other: Self) -> bool {
        self.start <= other.start && other.end <= self.end
    }

    /// Returns the text of the span, or the empty string if the span does not fit `text`.
    #[must_use]
    pub fn slice(self, text: &str) -> &str {
        text.get(self.start..self.end).unwrap_or_default()
    }
}

/// A [`Span`] that takes half the memory, for files of at most 4 GiB. Larger files are not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct CompactSpan {
    start: u32,
    end: u32,
}

impl CompactSpan {
    /// Converts a span; offsets above 4 GiB, which do not occur in files that are read, become the maximum.
    pub(super) fn new(span: Span) -> Self {
        let short = |offset| u32::try_from(offset).unwrap_or(u32::MAX);
        Self {
            start: short(span.start),
            end: short(span.end),
        }
    }

    pub(super) const fn span(self) -> Span {
        Span::new(self.start as usize, self.end as usize)
    }
}

/// A position for people: lines and columns count from 1, columns count Unicode code points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1.
    pub column: usize,
}

/// Index of the lines of a text, which converts offsets to positions.
#[derive(Clone, Debug)]
pub struct LineIndex {
    starts: Vec<usize>,
    /// Number of characters before each block of [`BLOCK`] bytes, because a document may be one long line.
    characters: Vec<usize>,
}

/// Size of a block in bytes. The characters of one block are counted again for every column.
const BLOCK: usize = 1024;

impl LineIndex {
    /// Indexes the lines of `text`; a lone `\r` does not end a line.
    #[must_use]
    pub fn new(text: &str) -> Self {
        let ends = memchr::memchr_iter(b'\n', text.as_bytes());
        let blocks = text.as_bytes().chunks(BLOCK);
        let characters = blocks.scan(0, |before, block| {
            let here = *before;
            *before += count(block);
            Some(here)
        });
        Self {
            starts: std::iter::once(0).chain(ends.map(|at| at + 1)).collect(),
            characters: characters.collect(),
        }
    }

    /// Returns how many characters start before the byte at `offset`.
    fn characters_before(&self, text: &str, offset: usize) -> usize {
        let block = offset / BLOCK;
        let Some(&before) = self.characters.get(block) else {
            // After the last block.
            let last = self.characters.len().saturating_sub(1);
            let before = self.characters.last().copied().unwrap_or_default();
            return before + count(text.as_bytes().get(last * BLOCK..).unwrap_or_default());
        };
        let rest = text.as_bytes().get(block * BLOCK..offset);
        before + count(rest.unwrap_or_default())
    }

    /// Returns the position of the byte at `offset`; offsets after the end give the last position.
    #[must_use]
    pub fn position(&self, text: &str, offset: usize) -> Position {
        let offset = offset.min(text.len());
        let line = self.starts.partition_point(|&start| start <= offset).max(1);
        let start = self.starts.get(line - 1).copied().unwrap_or_default();
        let rest = text.get(start..offset).unwrap_or_default();
        let marks = rest.len() - rest.trim_start_matches('\u{feff}').len();
        let before = start + marks;
        let end = start + rest.len();
        let column = self.characters_before(text, end) - self.characters_before(text, before) + 1;
        Position { line, column }
    }

    /// Returns the span of line `line` (from 1) without its line break, if there is such a line.
    #[must_use]
    pub fn line(&self, text: &str, line: usize) -> Option<Span> {
        let start = *self.starts.get(line.checked_sub(1)?)?;
        let end = self.starts.get(line).map_or(text.len(), |next| next - 1);
        let end = start + text.get(start..end)?.trim_end_matches('\r').len();
        Some(Span::new(start, end))
    }
}

/// Counts the characters that start within the bytes.
fn count(bytes: &[u8]) -> usize {
    bytes.iter().filter(|&&byte| byte & 0xc0 != 0x80).count()
}

/// A byte range of the whole file and its replacement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The bytes to replace; empty for an insertion.
    pub span: Span,
    /// The replacement.
    pub text: String,
}

/// Reason why a document cannot be edited safely.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditError {
    /// The offset of the obstacle in the file, in bytes.
    pub offset: usize,
    /// Message for the user: why the edit is not possible.
    pub reason: String,
}

impl std::fmt::Display for EditError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for EditError {}

/// Converts the offsets of edits from a text that starts at `from` to one that starts at `to`.
pub(crate) fn shift(edits: &mut [Edit], from: usize, to: usize) {
    for edit in edits {
        edit.span.start = edit.span.start - from + to;
        edit.span.end = edit.span.end - from + to;
    }
}

/// Returns `text` with all `edits` applied. They must be sorted and must not overlap; edits that overlap an earlier one
/// are skipped.
#[must_use]
pub fn splice(text: &str, edits: &[Edit]) -> String {
    let added: usize = edits.iter().map(|edit| edit.text.len()).sum();
    let mut out = String::with_capacity(text.len() + added);
    let mut done = 0;
    for edit in edits {
        if let Some(kept) = text.get(done..edit.span.start) {
            out.push_str(kept);
            out.push_str(&edit.text);
            done = edit.span.end;
        }
    }
    out.push_str(text.get(done..).unwrap_or_default());
    out
}

/// Returns a segment of `text`, before and after its edits, which are as for [`splice`].
#[must_use]
pub fn splice_segment<'t>(text: &'t str, segment: Span, edits: &[Edit]) -> (&'t str, String) {
    let before = segment.slice(text);
    let mut local = edits.to_vec();
    shift(&mut local, segment.start, 0);
    (before, splice(before, &local))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_long_lines_are_counted_from_the_line() {
        let long = "é".repeat(2 * BLOCK) + "x";
        let text = format!("a\n\u{feff}{long}\n{long}");
        let index = LineIndex::new(&text);
        let lines = [(2, 2 + '\u{feff}'.len_utf8()), (3, text.len() - long.len())];
        for (line, start) in lines {
            for (before, (at, _)) in long.char_indices().enumerate() {
                let column = before + 1;
                assert_eq!(index.position(&text, start + at), Position { line, column });
            }
        }
        let column = long.chars().count() + 1;
        assert_eq!(
            index.position(&text, text.len()),
            Position { line: 3, column }
        );
    }

    #[test]
    fn columns_count_code_points() {
        let text = "a\nüx: y\r\nlast";
        let index = LineIndex::new(text);
        assert_eq!(index.position(text, 0), Position { line: 1, column: 1 });
        assert_eq!(index.position(text, 4), Position { line: 2, column: 2 });
        assert_eq!(index.position(text, 999), Position { line: 3, column: 5 });
        assert_eq!(
            index.line(text, 2).map(|span| span.slice(text)),
            Some("üx: y")
        );
        assert_eq!(index.line(text, 4), None);
    }
}
