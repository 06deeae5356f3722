//! Lines: indentation, blanks, comments, markers.

use super::{Declined, Read, Reader};

/// Tells whether a text holds nothing but what every parser takes for the same: printable
/// characters, blanks, `\t`, `\n` and `\r\n`.
pub(super) fn ordinary(source: &str) -> bool {
    let bytes = source.as_bytes();
    // Without an early exit this is a few instructions for many bytes at once.
    let odd = bytes.iter().fold(false, |odd, &byte| {
        odd | ((byte < b' ') & (byte != b'\n')) | (byte >= 0x7f)
    });
    !odd || source.chars().all(is_ordinary) && returns_break_lines(bytes)
}

fn is_ordinary(c: char) -> bool {
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

impl Reader<'_> {
    pub(super) fn byte(&self, at: usize) -> Option<u8> {
        self.bytes.get(at).copied()
    }

    /// Goes to the next line that holds more than blanks and comments, and returns where its
    /// content starts.
    pub(super) fn next_content(&mut self) -> Read<Option<usize>> {
        loop {
            self.line = self.at;
            let at = self.skip_blanks(self.at);
            self.at = match self.byte(at) {
                None => return Ok(None),
                Some(b'\n') => at + 1,
                Some(b'\r') => at + 2,
                Some(b'#') => self.next_line(at),
                Some(b'\t') => return Err(Declined),
                Some(_) => return Ok(Some(at)),
            };
        }
    }

    /// Ends the line behind a token: only blanks and a comment may follow.
    pub(super) fn end_line(&mut self, behind: usize) -> Read<()> {
        let at = self.skip_blanks(behind);
        self.at = match self.byte(at) {
            None => at,
            Some(b'\n') => at + 1,
            Some(b'\r') => at + 2,
            Some(b'#') if at > behind => self.next_line(at),
            Some(_) => return Err(Declined),
        };
        Ok(())
    }

    /// Returns the first offset from `at` on that holds no blank.
    pub(super) fn skip_blanks(&self, at: usize) -> usize {
        let rest = self.bytes.get(at..).unwrap_or_default();
        let blanks = rest.iter().take_while(|byte| **byte == b' ').count();
        at + blanks
    }

    /// Tells whether at `at`, behind blanks, the line ends or a comment begins.
    pub(super) fn line_ends(&self, at: usize) -> bool {
        matches!(self.byte(at), None | Some(b'\n' | b'\r' | b'#'))
    }

    /// Returns the offset of the line break from `at` on, its `\r` counted, or the end.
    pub(super) fn break_at(&self, at: usize) -> usize {
        let rest = self.bytes.get(at..).unwrap_or_default();
        match memchr::memchr(b'\n', rest) {
            Some(found) if found > 0 && rest.get(found - 1) == Some(&b'\r') => at + found - 1,
            Some(found) => at + found,
            None => self.bytes.len(),
        }
    }

    /// Returns the start of the next line.
    pub(super) fn next_line(&self, at: usize) -> usize {
        let rest = self.bytes.get(at..).unwrap_or_default();
        memchr::memchr(b'\n', rest).map_or(self.bytes.len(), |found| at + found + 1)
    }

    /// Tells whether a `-` at `at` opens an item.
    pub(super) fn is_dash(&self, at: usize) -> Read<bool> {
        if self.byte(at) != Some(b'-') {
            return Ok(false);
        }
        match self.byte(at + 1) {
            None | Some(b' ' | b'\n' | b'\r') => Ok(true),
            Some(b'\t') => Err(Declined),
            Some(_) => Ok(false),
        }
    }

    /// Tells whether `---` or `...` stands at `at`, the start of a line.
    pub(super) fn is_marker(&self, at: usize) -> bool {
        let rest = self.bytes.get(at..).unwrap_or_default();
        let ends = matches!(rest.get(3), None | Some(b' ' | b'\t' | b'\n' | b'\r'));
        ends && (rest.starts_with(b"---") || rest.starts_with(b"..."))
    }
}
