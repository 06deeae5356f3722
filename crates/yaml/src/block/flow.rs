//! Flow collections, which include JSON.

use crate::span::Span;
use crate::tree::{Kind, Style};

use super::parser::{self, FastParser, ParseResult, Unsupported};
use super::scalars::{ScalarToken, is_flow};

/// Limit on the nesting of flow collections.
const DEPTH: usize = 64;

impl FastParser<'_> {
    /// Reads the flow collection at `at`, and returns the offset after it.
    pub(super) fn flow(&mut self, at: usize, indicator: Option<usize>) -> ParseResult<usize> {
        if self.arena.depth() >= self.blocks.len() + DEPTH || self.arena.depth() >= parser::DEPTH {
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
