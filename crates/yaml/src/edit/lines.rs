//! Lines and columns of one document.

use crate::span::Span;

/// Access to the lines of one document of a file.
#[derive(Clone, Copy)]
pub(super) struct Lines<'t> {
    text: &'t str,
    segment: Span,
}

impl<'t> Lines<'t> {
    pub(super) fn new(text: &'t str, segment: Span) -> Self {
        let mut segment = Span::new(segment.start, segment.end.min(text.len()));
        if segment.slice(text).starts_with('\u{feff}') {
            segment.start += '\u{feff}'.len_utf8();
        }
        Self { text, segment }
    }

    pub(super) fn slice(self, start: usize, end: usize) -> &'t str {
        Span::new(start, end).slice(self.text)
    }

    pub(super) fn byte(self, at: usize) -> Option<u8> {
        self.text.as_bytes().get(at).copied()
    }

    /// Returns the start of the line that contains `at`.
    pub(super) fn start(self, at: usize) -> usize {
        let before = self.slice(self.segment.start, at).as_bytes();
        memchr::memrchr(b'\n', before)
            .map_or(self.segment.start, |found| self.segment.start + found + 1)
    }

    /// Returns the end of the line that contains `at`, before its line break.
    pub(super) fn end(self, at: usize) -> usize {
        let rest = self.slice(at, self.segment.end);
        let line = rest.split('\n').next().unwrap_or_default();
        at + line.strip_suffix('\r').unwrap_or(line).len()
    }

    /// Returns the start of the line after the one that contains `at`.
    pub(super) fn next(self, at: usize) -> usize {
        let rest = self.slice(at, self.segment.end).as_bytes();
        memchr::memchr(b'\n', rest).map_or(self.segment.end, |found| at + found + 1)
    }

    /// Returns the end of the line before the one that starts at `start`, if there is one.
    pub(super) fn before(self, start: usize) -> Option<usize> {
        let text = self.slice(self.segment.start, start);
        let line = text.strip_suffix('\n')?;
        let line = line.strip_suffix('\r').unwrap_or(line);
        Some(self.segment.start + line.len())
    }

    /// Returns whether the line that contains `at` ends with a line break.
    pub(super) fn is_terminated(self, at: usize) -> bool {
        self.next(at) > self.end(at)
    }

    /// Returns the line break to use: that of the line that contains `at`, or else of the line before.
    pub(super) fn eol(self, at: usize) -> &'static str {
        let end = self.end(at);
        let line_break = match self.slice(end, self.next(at)) {
            "" => self.slice(self.start(at).saturating_sub(2), self.start(at)),
            line_break => line_break,
        };
        if line_break.ends_with("\r\n") {
            "\r\n"
        } else {
            "\n"
        }
    }

    /// Returns the column of `at` in characters, from 0.
    pub(super) fn column(self, at: usize) -> usize {
        self.slice(self.start(at), at).chars().count()
    }

    /// Returns whether there are only blanks before `at` on its line.
    pub(super) fn is_line_start(self, at: usize) -> bool {
        self.slice(self.start(at), at)
            .bytes()
            .all(|byte| matches!(byte, b' ' | b'\t'))
    }

    /// Returns the blanks at the start of the line that contains `at`.
    pub(super) fn indentation(self, at: usize) -> &'t str {
        let start = self.start(at);
        let line = self.slice(start, self.end(at));
        let blanks = line.len() - line.trim_start_matches([' ', '\t']).len();
        self.slice(start, start + blanks)
    }

    /// Returns the text after `at` on its line.
    pub(super) fn rest(self, at: usize) -> &'t str {
        self.slice(at, self.end(at))
    }

    /// Returns whether there are only blanks after `at` on its line.
    pub(super) fn rest_is_blank(self, at: usize) -> bool {
        self.rest(at).trim_matches([' ', '\t']).is_empty()
    }

    /// Returns the first offset at or after `at` that is not in blanks, line breaks or comments.
    pub(super) fn skip_trivia(self, mut at: usize) -> usize {
        while let Some(byte) = self.byte(at) {
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' => at += 1,
                b'#' => at = self.end(at),
                _ => break,
            }
        }
        at
    }
}
