//! Lines: indentation, blanks, comments and markers; and what the fast parser reads them with.

use crate::arena::Arena;
use crate::tree::Kind;

impl FastParser<'_> {
    pub(super) fn byte(&self, at: usize) -> Option<u8> {
        self.bytes.get(at).copied()
    }

    /// Advances to the next line that has content other than blanks and comments, and returns the offset
    /// of the content; `None` at the end of the document.
    pub(super) fn next_content(&mut self) -> ParseResult<Option<usize>> {
        loop {
            self.line = self.at;
            let at = self.skip_blanks(self.at);
            self.at = match self.byte(at) {
                None => return Ok(None),
                Some(b'\n') => at + 1,
                Some(b'\r') => at + 2,
                Some(b'#') => self.next_line(at),
                Some(b'\t') => return Err(Unsupported),
                Some(_) => return Ok(Some(at)),
            };
        }
    }

    /// Ends the line after a token that ends at `end`: only blanks and a comment may follow.
    pub(super) fn end_line(&mut self, end: usize) -> ParseResult<()> {
        let at = self.skip_blanks(end);
        self.at = match self.byte(at) {
            None => at,
            Some(b'\n') => at + 1,
            Some(b'\r') => at + 2,
            Some(b'#') if at > end => self.next_line(at),
            Some(_) => return Err(Unsupported),
        };
        Ok(())
    }

    /// Returns the offset of the first byte at or after `at` that is not a blank.
    pub(super) fn skip_blanks(&self, at: usize) -> usize {
        let rest = self.bytes.get(at..).unwrap_or_default();
        let blanks = rest.iter().take_while(|byte| **byte == b' ').count();
        at + blanks
    }

    /// Returns whether the line ends or a comment begins at `at`, which follows blanks.
    pub(super) fn line_ends(&self, at: usize) -> bool {
        matches!(self.byte(at), None | Some(b'\n' | b'\r' | b'#'))
    }

    /// Returns the offset of the next line break at or after `at`, including its `\r`, or the end of the document.
    pub(super) fn break_at(&self, at: usize) -> usize {
        let rest = self.bytes.get(at..).unwrap_or_default();
        match memchr::memchr(b'\n', rest) {
            Some(found) if found > 0 && rest.get(found - 1) == Some(&b'\r') => at + found - 1,
            Some(found) => at + found,
            None => self.bytes.len(),
        }
    }

    /// Returns the start of the line after `at`.
    pub(super) fn next_line(&self, at: usize) -> usize {
        let rest = self.bytes.get(at..).unwrap_or_default();
        memchr::memchr(b'\n', rest).map_or(self.bytes.len(), |found| at + found + 1)
    }

    /// Returns whether the byte at `at` is a `-` that starts an item.
    pub(super) fn is_dash(&self, at: usize) -> ParseResult<bool> {
        if self.byte(at) != Some(b'-') {
            return Ok(false);
        }
        match self.byte(at + 1) {
            None | Some(b' ' | b'\n' | b'\r') => Ok(true),
            Some(b'\t') => Err(Unsupported),
            Some(_) => Ok(false),
        }
    }

    /// Returns whether `---` or `...` is at `at`, the start of a line.
    pub(super) fn is_marker(&self, at: usize) -> bool {
        let rest = self.bytes.get(at..).unwrap_or_default();
        let ends = matches!(rest.get(3), None | Some(b' ' | b'\t' | b'\n' | b'\r'));
        ends && (rest.starts_with(b"---") || rest.starts_with(b"..."))
    }
}

/// Limit on the nesting of collections; the full parser reads deeper ones.
pub(super) const DEPTH: usize = 200;

/// Error: the text is left to the full parser.
#[derive(Debug)]
pub(super) struct Unsupported;

/// Result of reading a part of a document.
pub(super) type ParseResult<T> = Result<T, Unsupported>;

/// A block collection whose end has not been reached.
#[derive(Clone, Copy)]
pub(super) struct Block {
    pub(super) column: usize,
    pub(super) kind: Kind,
}

/// Parser of one document.
pub(super) struct FastParser<'a> {
    pub(super) text: &'a str,
    /// The text up to the end of the document.
    pub(super) bytes: &'a [u8],
    pub(super) arena: Arena,
    pub(super) blocks: Vec<Block>,
    /// Start of the current line.
    pub(super) line: usize,
    /// Start of the next line to read.
    pub(super) at: usize,
    /// The end of the `:`, or the `-`, whose value has not been read.
    pub(super) awaiting: Option<usize>,
    /// The plain scalar that the next line may continue.
    pub(super) plain: Option<u32>,
}
