//! Flow collections, and so JSON.

use crate::yaml::span::Span;
use crate::yaml::tree::{Kind, Style};

use super::scalars::{Found, is_flow};
use super::{Declined, Read, Reader};

/// Flow collections within each other.
const DEPTH: usize = 64;

impl Reader<'_> {
    /// Reads the flow collection at `at`, and returns the offset behind it.
    pub(super) fn flow(&mut self, at: usize, indicator: Option<usize>) -> Read<usize> {
        if self.arena.depth() >= self.blocks.len() + DEPTH || self.arena.depth() >= super::DEPTH {
            return Err(Declined);
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

    /// Reads members up to the bracket `closing`, and returns the offset behind it.
    fn flow_members(
        &mut self,
        from: usize,
        closing: u8,
        member: fn(&mut Self, usize) -> Read<usize>,
    ) -> Read<usize> {
        let mut at = self.flow_space(from)?;
        while self.byte(at) != Some(closing) {
            if self.arena.is_full() {
                return Err(Declined);
            }
            let behind = member(self, at)?;
            at = self.flow_space(behind)?;
            match self.byte(at) {
                Some(b',') => at = self.flow_space(at + 1)?,
                Some(byte) if byte == closing => {}
                _ => return Err(Declined),
            }
        }
        Ok(at + 1)
    }

    fn flow_item(&mut self, at: usize) -> Read<usize> {
        self.flow_node(at, None)
    }

    fn flow_entry(&mut self, at: usize) -> Read<usize> {
        let key = self.flow_scalar(at)?;
        let colon = key.colon.ok_or(Declined)?;
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

    fn flow_node(&mut self, at: usize, indicator: Option<usize>) -> Read<usize> {
        if matches!(self.byte(at), Some(b'{' | b'[')) {
            return self.flow(at, indicator);
        }
        let found = self.flow_scalar(at)?;
        // `[a: b]` is a mapping in one line.
        if found.colon.is_some() {
            return Err(Declined);
        }
        self.push_scalar(&found, indicator)?;
        Ok(found.end)
    }

    fn flow_scalar(&self, at: usize) -> Read<Found> {
        match (self.byte(at), self.byte(at + 1)) {
            (Some(b'\'' | b'"'), _) => self.find_quoted(at, true),
            (Some(b'-'), Some(b' ' | b'\n' | b'\r')) => Err(Declined),
            (Some(b'-'), Some(next)) if is_flow(next) => Err(Declined),
            _ => self.find_plain(at, true),
        }
    }

    /// Skips blanks, breaks and comments between tokens. Lines must be deeper than the block that
    /// the collection stands in.
    fn flow_space(&mut self, from: usize) -> Read<usize> {
        let mut at = self.skip_blanks(from);
        let mut comment_may_follow = at > from;
        loop {
            match self.byte(at) {
                Some(b'\n' | b'\r') => {}
                Some(b'#') if comment_may_follow => {}
                Some(b'\t' | b'#') | None => return Err(Declined),
                Some(_) => return Ok(at),
            }
            self.line = self.next_line(at);
            at = self.skip_blanks(self.line);
            self.flow_indentation(at)?;
            comment_may_follow = true;
        }
    }

    fn flow_indentation(&self, at: usize) -> Read<()> {
        let column = at - self.line;
        let deep = match self.blocks.last() {
            Some(top) => column > top.column,
            // Not to meet markers and directives.
            None => column > 0 || !matches!(self.byte(at), Some(b'-' | b'.' | b'%')),
        };
        let blank = matches!(self.byte(at), Some(b'\n' | b'\r' | b'#'));
        if deep || blank { Ok(()) } else { Err(Declined) }
    }
}
