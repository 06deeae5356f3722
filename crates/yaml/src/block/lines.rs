//! Lines: indentation, blanks, comments and markers.

use super::parser::{FastParser, ParseResult, Unsupported};

/// Returns whether a text contains only characters that all parsers read alike: printable
/// characters, blanks, `\t`, `\n` and `\r\n`.
pub(super) fn is_supported_text(source: &str) -> bool {
    let bytes = source.as_bytes();
    // Without an early exit, the compiler vectorizes this loop.
    let odd = bytes.iter().fold(false, |odd, &byte| {
        odd | ((byte < b' ') & (byte != b'\n')) | (byte >= 0x7f)
    });
    !odd || source.chars().all(is_supported_char) && returns_break_lines(bytes)
}

fn is_supported_char(c: char) -> bool {
    match c {
        '\t' | '\n' | '\r' | ' '..='~' => true,
        // YAML 1.1 ends a line at these two.
        '\u{2028}' | '\u{2029}' | '\u{feff}' => false,
        '\u{a0}'..='\u{fffd}' | '\u{10000}'..='\u{10ffff}' => true,
        _ => false,
    }
}

fn returns_break_lines(bytes: &[u8]) -> bool {
    memchr::memchr_iter(b'\r', bytes).all(|at| bytes.get(at + 1) == Some(&b'\n'))
}

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
