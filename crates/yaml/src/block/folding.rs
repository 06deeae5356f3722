//! Plain and quoted scalars of several lines, whose line breaks are folded.

use crate::span::Span;
use crate::tree::{Kind, Style};

use super::parser::{FastParser, ParseResult, Unsupported};
use super::scalars::{ScalarToken, unescape};

impl FastParser<'_> {
    /// Reads a line that continues the plain scalar `id` and is indented deeper than `column`.
    pub(super) fn continue_plain(&mut self, id: u32, at: usize, column: usize) -> ParseResult<()> {
        let scalar = self.arena.span(id).ok_or(Unsupported)?;
        let (stop, colon) = self.plain_stop(at, false)?;
        let end = self.trimmed(at, stop);
        // A key cannot have two lines.
        if colon || at - self.line <= column || scalar.slice(self.text) == "<<" {
            return Err(Unsupported);
        }
        // A comment ends the scalar.
        let gap = self.bytes.get(scalar.end..at).unwrap_or_default();
        if !gap.iter().all(|byte| matches!(byte, b' ' | b'\r' | b'\n')) {
            return Err(Unsupported);
        }
        let breaks = memchr::memchr_iter(b'\n', gap).count();
        let from = match self.arena.decoded_start(id) {
            Some(from) => from,
            None => {
                let from = self.arena.decoded().len();
                self.arena.decoded().push_str(scalar.slice(self.text));
                from
            }
        };
        fold(breaks.saturating_sub(1), self.arena.decoded());
        let line = Span::new(at, end).slice(self.text);
        self.arena.decoded().push_str(line);
        self.arena.set_decoded(id, from);
        self.arena.set_span(id, Span::new(scalar.start, end));
        self.plain = Some(id);
        self.end_line(end)
    }

    /// Adds a quoted scalar of several lines. The lines do not have to be indented: libyaml and go-yaml read
    /// them at any column.
    pub(super) fn push_folded(
        &mut self,
        token: &ScalarToken,
        indicator: Option<usize>,
    ) -> ParseResult<u32> {
        let span = Span::new(token.start, token.end);
        let id = self.arena.push(Kind::Scalar, token.style, span, indicator);
        let from = self.arena.decoded().len();
        let inner = Span::new(token.start + 1, token.end - 1).slice(self.text);
        let mut pieces = inner.split('\n').peekable();
        let mut state = LineState {
            first: true,
            blank_lines: 0,
            joined: false,
        };
        while let Some(piece) = pieces.next() {
            let last = pieces.peek().is_none();
            self.fold_line(piece, token.style, last, &mut state)?;
        }
        self.arena.set_decoded(id, from);
        Ok(id)
    }

    fn fold_line(
        &mut self,
        written: &str,
        style: Style,
        last: bool,
        state: &mut LineState,
    ) -> ParseResult<()> {
        let line = written.strip_suffix('\r').unwrap_or(written);
        let mut text = line;
        if !state.first {
            text = line.trim_start_matches([' ', '\t']);
            if text.is_empty() && !last {
                state.blank_lines += 1;
                return Ok(());
            }
            if begins_marker(line) {
                return Err(Unsupported);
            }
            state.join(self.arena.decoded());
        }
        let joined = !last && style == Style::DoubleQuoted && ends_in_escape(text);
        if joined {
            text = text.strip_suffix('\\').unwrap_or(text);
        } else if !last {
            text = without_blanks(text)?;
        }
        if text.starts_with('\t') || (text.ends_with('\t') && !joined) {
            return Err(Unsupported);
        }
        unescape(text, style, self.arena.decoded())?;
        *state = LineState {
            first: false,
            blank_lines: 0,
            joined,
        };
        Ok(())
    }
}

/// State before the next line of a quoted scalar.
struct LineState {
    first: bool,
    blank_lines: usize,
    /// Whether the line break before was escaped.
    joined: bool,
}

impl LineState {
    fn join(&self, into: &mut String) {
        if self.joined {
            into.extend(std::iter::repeat_n('\n', self.blank_lines));
        } else {
            fold(self.blank_lines, into);
        }
    }
}

/// Returns whether a line may be a document marker, which a scalar cannot contain.
fn begins_marker(line: &str) -> bool {
    line.starts_with("---") || line.starts_with("...")
}

/// Folds line breaks: a single one becomes a blank, of several the first is dropped.
fn fold(blank_lines: usize, into: &mut String) {
    if blank_lines == 0 {
        into.push(' ');
    } else {
        into.extend(std::iter::repeat_n('\n', blank_lines));
    }
}

/// Returns a line without the blanks at its end; declines `\ ` there.
fn without_blanks(text: &str) -> ParseResult<&str> {
    let trimmed = text.trim_end_matches(' ');
    if trimmed.len() < text.len() && ends_in_escape(trimmed) {
        return Err(Unsupported);
    }
    Ok(trimmed)
}

/// Returns whether a text ends with a `\` that is not itself escaped.
fn ends_in_escape(text: &str) -> bool {
    let backslashes = text.bytes().rev().take_while(|byte| *byte == b'\\');
    backslashes.count() % 2 == 1
}
