//! Block scalars, literal and folded.

use crate::block_scalar::{block_span, without_invented_break};
use crate::span::Span;
use crate::tree::{Kind, Style};

use super::parser::{FastParser, ParseResult, Unsupported};

/// Treatment of the line breaks at the end of a block scalar.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Chomping {
    Clip,
    Strip,
    Keep,
}

/// State of a block scalar that is being read.
#[derive(Default)]
struct Body {
    /// Number of empty lines after the last line.
    empty: usize,
    /// Whether a line and its line break have been read.
    broken: bool,
    /// Whether the last line starts with a blank.
    indented: bool,
}

impl FastParser<'_> {
    /// Reads a block scalar, starting at its header.
    pub(super) fn block_scalar(&mut self, at: usize, indicator: Option<usize>) -> ParseResult<()> {
        let column = self.blocks.last().ok_or(Unsupported)?.column;
        let style = match self.byte(at) {
            Some(b'|') => Style::Literal,
            _ => Style::Folded,
        };
        let (chomping, end) = match self.byte(at + 1) {
            Some(b'-') => (Chomping::Strip, at + 2),
            Some(b'+') => (Chomping::Keep, at + 2),
            _ => (Chomping::Clip, at + 1),
        };
        self.end_line(end)?;
        let mut body = Body::default();
        let indent = self.body_indent(&mut body)?;
        if indent <= column {
            return Err(Unsupported);
        }
        let from = self.arena.decoded().len();
        while self.body_line(indent, style, &mut body)? {}
        self.chomp(chomping, &body);
        self.push_block(at, style, from, indicator);
        Ok(())
    }

    /// Skips the empty lines below the header, and returns the column of the first other line.
    fn body_indent(&mut self, body: &mut Body) -> ParseResult<usize> {
        let mut longest = 0;
        loop {
            let at = self.skip_blanks(self.at);
            let column = at - self.at;
            match self.byte(at) {
                Some(b'\n') => self.at = at + 1,
                Some(b'\r') => self.at = at + 2,
                None | Some(b'\t') => return Err(Unsupported),
                Some(_) if column < longest => return Err(Unsupported),
                Some(_) => return Ok(column),
            }
            body.empty += 1;
            longest = longest.max(column);
        }
    }

    /// Reads a line; returns `false` if it does not belong to the scalar.
    fn body_line(&mut self, indent: usize, style: Style, body: &mut Body) -> ParseResult<bool> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let blanks = rest
            .iter()
            .take(indent)
            .take_while(|byte| **byte == b' ')
            .count();
        let start = self.at + blanks;
        match self.byte(start) {
            Some(b'\n') => self.at = start + 1,
            Some(b'\r') => self.at = start + 2,
            Some(_) if blanks == indent => {
                self.body_text(start, style, body);
                return Ok(true);
            }
            None => {
                self.at = start;
                return Ok(false);
            }
            Some(b'\t') => return Err(Unsupported),
            Some(_) => return Ok(false),
        }
        body.empty += 1;
        Ok(true)
    }

    fn body_text(&mut self, start: usize, style: Style, body: &mut Body) {
        let end = self.break_at(start);
        let line = Span::new(start, end).slice(self.text);
        let indented = line.starts_with([' ', '\t']);
        let into = self.arena.decoded();
        let folds = style == Style::Folded && body.broken && !body.indented && !indented;
        if folds && body.empty == 0 {
            into.push(' ');
        } else if body.broken && !folds {
            into.push('\n');
        }
        into.extend(std::iter::repeat_n('\n', body.empty));
        into.push_str(line);
        self.at = self.next_line(end);
        *body = Body {
            empty: 0,
            broken: end < self.bytes.len(),
            indented,
        };
    }

    fn chomp(&mut self, chomping: Chomping, body: &Body) {
        let into = self.arena.decoded();
        if chomping != Chomping::Strip {
            into.push('\n');
        }
        if chomping == Chomping::Keep {
            into.extend(std::iter::repeat_n('\n', body.empty));
        }
    }

    fn push_block(&mut self, at: usize, style: Style, from: usize, indicator: Option<usize>) {
        let value = self.arena.decoded().get(from..).unwrap_or_default();
        let span = block_span(self.text, value, at, self.at);
        let kept = without_invented_break(self.text, value, span).len();
        self.arena.decoded().truncate(from + kept);
        let id = self.arena.push(Kind::Scalar, style, span, indicator);
        self.arena.set_decoded(id, from);
    }
}
