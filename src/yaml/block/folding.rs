//! Plain and quoted scalars of several lines, whose breaks fold.

use crate::yaml::span::Span;
use crate::yaml::tree::{Kind, Style};

use super::scalars::{Found, unescape};
use super::{Declined, Read, Reader};

impl Reader<'_> {
    /// Reads a line that goes on with the plain scalar `id`, deeper than `column`.
    pub(super) fn go_on(&mut self, id: u32, at: usize, column: usize) -> Read<()> {
        let so_far = self.arena.span(id).ok_or(Declined)?;
        let (stop, colon) = self.plain_stop(at, false)?;
        let end = self.trimmed(at, stop);
        // No key has two lines.
        if colon || at - self.line <= column || so_far.slice(self.text) == "<<" {
            return Err(Declined);
        }
        // A comment ends the scalar.
        let gap = self.bytes.get(so_far.end..at).unwrap_or_default();
        if !gap.iter().all(|byte| matches!(byte, b' ' | b'\r' | b'\n')) {
            return Err(Declined);
        }
        let breaks = memchr::memchr_iter(b'\n', gap).count();
        let from = match self.arena.decoded_start(id) {
            Some(from) => from,
            None => {
                let from = self.arena.decoded().len();
                self.arena.decoded().push_str(so_far.slice(self.text));
                from
            }
        };
        fold(breaks.saturating_sub(1), self.arena.decoded());
        let line = Span::new(at, end).slice(self.text);
        self.arena.decoded().push_str(line);
        self.arena.set_decoded(id, from);
        self.arena.set_span(id, Span::new(so_far.start, end));
        self.plain = Some(id);
        self.end_line(end)
    }

    /// Adds a quoted scalar of several lines. They need no indentation: libyaml and go-yaml read
    /// them anywhere.
    pub(super) fn push_folded(&mut self, found: &Found, indicator: Option<usize>) -> Read<u32> {
        let span = Span::new(found.start, found.end);
        let id = self.arena.push(Kind::Scalar, found.style, span, indicator);
        let from = self.arena.decoded().len();
        let inner = Span::new(found.start + 1, found.end - 1).slice(self.text);
        let mut pieces = inner.split('\n').peekable();
        let mut place = Place {
            first: true,
            blank_lines: 0,
            joined: false,
        };
        while let Some(piece) = pieces.next() {
            let last = pieces.peek().is_none();
            self.fold_line(piece, found.style, last, &mut place)?;
        }
        self.arena.set_decoded(id, from);
        Ok(id)
    }

    fn fold_line(
        &mut self,
        written: &str,
        style: Style,
        last: bool,
        place: &mut Place,
    ) -> Read<()> {
        let line = written.strip_suffix('\r').unwrap_or(written);
        let mut text = line;
        if !place.first {
            text = line.trim_start_matches([' ', '\t']);
            if text.is_empty() && !last {
                place.blank_lines += 1;
                return Ok(());
            }
            if begins_marker(line) {
                return Err(Declined);
            }
            place.join(self.arena.decoded());
        }
        let joined = !last && style == Style::DoubleQuoted && ends_in_escape(text);
        if joined {
            text = text.strip_suffix('\\').unwrap_or(text);
        } else if !last {
            text = without_blanks(text)?;
        }
        if text.starts_with('\t') || (text.ends_with('\t') && !joined) {
            return Err(Declined);
        }
        unescape(text, style, self.arena.decoded())?;
        *place = Place {
            first: false,
            blank_lines: 0,
            joined,
        };
        Ok(())
    }
}

/// What the next line of a quoted scalar follows.
struct Place {
    first: bool,
    blank_lines: usize,
    /// The break before was escaped.
    joined: bool,
}

impl Place {
    fn join(&self, into: &mut String) {
        if self.joined {
            into.extend(std::iter::repeat_n('\n', self.blank_lines));
        } else {
            fold(self.blank_lines, into);
        }
    }
}

/// Tells whether a line may be a document marker, which no scalar may hold.
fn begins_marker(line: &str) -> bool {
    line.starts_with("---") || line.starts_with("...")
}

/// A break alone becomes a blank; of several the first is dropped.
fn fold(blank_lines: usize, into: &mut String) {
    if blank_lines == 0 {
        into.push(' ');
    } else {
        into.extend(std::iter::repeat_n('\n', blank_lines));
    }
}

/// Drops the blanks at the end of a line; `\ ` there is declined.
fn without_blanks(text: &str) -> Read<&str> {
    let trimmed = text.trim_end_matches(' ');
    if trimmed.len() < text.len() && ends_in_escape(trimmed) {
        return Err(Declined);
    }
    Ok(trimmed)
}

/// Tells whether the last `\` of a text is not itself escaped.
fn ends_in_escape(text: &str) -> bool {
    let bytes = text.bytes().rev();
    bytes.take_while(|byte| *byte == b'\\').count() % 2 == 1
}
