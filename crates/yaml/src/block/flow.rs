//! Flow collections and folded scalars.

use super::lines;
use super::lines::{FastParser, ParseResult, Unsupported};
use super::scalars::{ScalarToken, is_flow, unescape};
use crate::span::Span;
use crate::tree::{Kind, Style};

/// Limit on the nesting of flow collections.
const DEPTH: usize = 64;

impl FastParser<'_> {
    /// Reads the flow collection at `at`, and returns the offset after it.
    pub(super) fn flow(&mut self, at: usize, indicator: Option<usize>) -> ParseResult<usize> {
        if self.arena.depth() >= self.blocks.len() + DEPTH || self.arena.depth() >= lines::DEPTH {
            return Err(Unsupported);
        }
        let kind = match self.byte(at) {
            Some(b'{') => Kind::Mapping,
            _ => Kind::Sequence,
        };
        let span = Span::new(at, at + 1);
        let id = self.arena.push(kind, Style::Flow, span, indicator);
        self.arena.open(id, kind);
        let end = match kind {
            Kind::Mapping => self.flow_members(at + 1, b'}', Self::flow_entry)?,
            _ => self.flow_members(at + 1, b']', Self::flow_item)?,
        };
        self.arena.close(Some(end));
        Ok(end)
    }

    /// Reads members up to the bracket `closing`, and returns the offset after it.
    fn flow_members(
        &mut self,
        from: usize,
        closing: u8,
        member: fn(&mut Self, usize) -> ParseResult<usize>,
    ) -> ParseResult<usize> {
        let mut at = self.flow_space(from)?;
        while self.byte(at) != Some(closing) {
            if self.arena.is_full() {
                return Err(Unsupported);
            }
            let end = member(self, at)?;
            at = self.flow_space(end)?;
            match self.byte(at) {
                Some(b',') => at = self.flow_space(at + 1)?,
                Some(byte) if byte == closing => {}
                _ => return Err(Unsupported),
            }
        }
        Ok(at + 1)
    }

    fn flow_item(&mut self, at: usize) -> ParseResult<usize> {
        self.flow_node(at, None)
    }

    fn flow_entry(&mut self, at: usize) -> ParseResult<usize> {
        let key = self.flow_scalar(at)?;
        let colon = key.colon.ok_or(Unsupported)?;
        self.push_scalar(&key, None)?;
        let at = self.flow_space(colon)?;
        if matches!(self.byte(at), Some(b',' | b'}')) {
            let place = Span::empty(colon);
            self.arena
                .push(Kind::Scalar, Style::Empty, place, Some(colon));
            return Ok(at);
        }
        self.flow_node(at, Some(colon))
    }

    fn flow_node(&mut self, at: usize, indicator: Option<usize>) -> ParseResult<usize> {
        if matches!(self.byte(at), Some(b'{' | b'[')) {
            return self.flow(at, indicator);
        }
        let token = self.flow_scalar(at)?;
        // `[a: b]` is a mapping on one line.
        if token.colon.is_some() {
            return Err(Unsupported);
        }
        self.push_scalar(&token, indicator)?;
        Ok(token.end)
    }

    fn flow_scalar(&self, at: usize) -> ParseResult<ScalarToken> {
        match (self.byte(at), self.byte(at + 1)) {
            (Some(b'\'' | b'"'), _) => self.find_quoted(at, true),
            (Some(b'-'), Some(b' ' | b'\n' | b'\r')) => Err(Unsupported),
            (Some(b'-'), Some(next)) if is_flow(next) => Err(Unsupported),
            _ => self.find_plain(at, true),
        }
    }

    /// Skips blanks, line breaks and comments between tokens. Lines must be indented deeper than the block that
    /// contains the collection.
    fn flow_space(&mut self, from: usize) -> ParseResult<usize> {
        let mut at = self.skip_blanks(from);
        let mut comment_may_follow = at > from;
        loop {
            match self.byte(at) {
                Some(b'\n' | b'\r') => {}
                Some(b'#') if comment_may_follow => {}
                Some(b'\t' | b'#') | None => return Err(Unsupported),
                Some(_) => return Ok(at),
            }
            self.line = self.next_line(at);
            at = self.skip_blanks(self.line);
            self.flow_indentation(at)?;
            comment_may_follow = true;
        }
    }

    fn flow_indentation(&self, at: usize) -> ParseResult<()> {
        let column = at - self.line;
        let deep = match self.blocks.last() {
            Some(top) => column > top.column,
            // Such a line may be a marker or a directive.
            None => column > 0 || !matches!(self.byte(at), Some(b'-' | b'.' | b'%')),
        };
        let blank = matches!(self.byte(at), Some(b'\n' | b'\r' | b'#'));
        if deep || blank {
            Ok(())
        } else {
            Err(Unsupported)
        }
    }
}

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
