//! Documents and block collections, line by line.
//!
//! Lines: indentation, blanks, comments and markers.
//!
//! State of the fast parser.

use std::sync::Arc;

use super::lines::{Block, DEPTH, FastParser, ParseResult, Unsupported};
use super::scalars::ScalarToken;
use crate::arena::Arena;
use crate::span::Span;
use crate::tree::{Kind, Style, Tree};

/// Parses the document in `segment` of `text` if it is ordinary block YAML. Returns `None` if it is not, or if it may
/// be faulty; [`parse_fully`](crate::parse_fully) reads all documents, and returns an equal tree for those that this
/// function parses.
#[must_use]
pub fn parse_fast(text: &Arc<str>, segment: Span) -> Option<Tree> {
    parse_fast_within(text, segment, usize::MAX).ok().flatten()
}

/// Error: the document has more nodes than allowed.
pub(crate) struct OverLimit;

/// Parses a document as [`parse_fast`] does, with at most `max_nodes` nodes.
///
/// # Errors
/// [`OverLimit`] if the document has more nodes.
pub(crate) fn parse_fast_within(
    text: &Arc<str>,
    segment: Span,
    max_nodes: usize,
) -> Result<Option<Tree>, OverLimit> {
    let source = segment.slice(text);
    let source = source.strip_prefix('\u{feff}').unwrap_or(source);
    // A separator of kubectl that is not a marker in YAML 1.2 is left to the full parser.
    let is_marked = !source.starts_with("---")
        || matches!(source.as_bytes().get(3), Some(b' ' | b'\n' | b'\r'));
    if u32::try_from(segment.end).is_err() || !is_marked || !is_supported_text(source) {
        return Ok(None);
    }
    let mut parser = FastParser {
        text,
        bytes: text.as_bytes().get(..segment.end).unwrap_or_default(),
        arena: Arena::new(text, segment),
        blocks: Vec::new(),
        line: 0,
        at: segment.end - source.len(),
        awaiting: None,
        plain: None,
    };
    parser.arena.limit_nodes(max_nodes);
    let read = parser.document();
    if parser.arena.is_full() {
        return Err(OverLimit);
    }
    if read.is_err() {
        return Ok(None);
    }
    parser.close_all();
    if parser.arena.overflows() {
        return Ok(None);
    }
    Ok(parser.arena.finish())
}

impl FastParser<'_> {
    fn document(&mut self) -> ParseResult<()> {
        let mut marked = false;
        while let Some(at) = self.next_content()? {
            if self.arena.is_full() {
                return Err(Unsupported);
            }
            let column = at - self.line;
            if column == 0 && self.is_marker(at) {
                if self.byte(at) == Some(b'.') {
                    return self.document_end(at);
                }
                if marked || self.arena.has_nodes() {
                    return Err(Unsupported);
                }
                marked = true;
                self.end_line(at + 3)?;
            } else {
                self.content_line(at, column)?;
            }
        }
        Ok(())
    }

    fn close_all(&mut self) {
        self.push_missing_value();
        while self.blocks.pop().is_some() {
            self.arena.close(None);
        }
    }

    /// Reads the line `...` at `at`. Only comments may follow it.
    fn document_end(&mut self, at: usize) -> ParseResult<()> {
        self.end_line(at + 3)?;
        if !self.arena.has_nodes() || self.next_content()?.is_some() {
            return Err(Unsupported);
        }
        Ok(())
    }

    /// Reads a line from `at`, its first byte that is not a blank.
    fn content_line(&mut self, at: usize, column: usize) -> ParseResult<()> {
        let plain = self.plain.take();
        let dash = self.is_dash(at)?;
        let Some(&top) = self.blocks.last() else {
            return self.root(at, column);
        };
        let deeper =
            column > top.column || (dash && column == top.column && top.kind == Kind::Mapping);
        if let Some(indicator) = self.awaiting {
            if deeper {
                self.awaiting = None;
                return self.node(at, column, Some(indicator));
            }
            self.push_missing_value();
        } else if column > top.column {
            return self.continue_plain(plain.ok_or(Unsupported)?, at, top.column);
        }
        self.close_to(column, dash);
        match self.blocks.last() {
            Some(top) if top.column == column => match (top.kind, dash) {
                (Kind::Sequence, true) => self.item(at),
                (Kind::Mapping, false) => self.entry(at),
                _ => Err(Unsupported),
            },
            _ => Err(Unsupported),
        }
    }

    /// Closes the collections that a line at `column` does not belong to. If a sequence is in the column of
    /// its key, the next key closes it.
    fn close_to(&mut self, column: usize, dash: bool) {
        while let Some(top) = self.blocks.last() {
            let ends_here = top.column == column && top.kind == Kind::Sequence && !dash;
            if top.column <= column && !ends_here {
                break;
            }
            self.blocks.pop();
            self.arena.close(None);
        }
    }

    fn root(&mut self, at: usize, column: usize) -> ParseResult<()> {
        if self.arena.has_nodes() {
            return Err(Unsupported);
        }
        self.node(at, column, None)
    }

    /// Adds an empty value for a key or dash that has no value.
    fn push_missing_value(&mut self) {
        let Some(indicator) = self.awaiting.take() else {
            return;
        };
        let at = match self.arena.innermost() {
            Some(Kind::Sequence) => indicator + 1,
            _ => indicator,
        };
        let (kind, style) = (Kind::Scalar, Style::Empty);
        self.arena
            .push(kind, style, Span::empty(at), Some(indicator));
    }

    /// Reads a value at a position where a collection may begin.
    fn node(&mut self, at: usize, column: usize, indicator: Option<usize>) -> ParseResult<()> {
        if self.is_dash(at)? {
            self.begin(Kind::Sequence, at, column, indicator)?;
            return self.item(at);
        }
        match self.byte(at) {
            Some(b'{' | b'[') => self.flow_value(at, indicator),
            _ => {
                let token = self.find_scalar(at)?;
                if token.colon.is_some() {
                    self.begin(Kind::Mapping, at, column, indicator)?;
                    return self.key(&token);
                }
                self.lone_scalar(&token, indicator)
            }
        }
    }

    fn begin(
        &mut self,
        kind: Kind,
        at: usize,
        column: usize,
        indicator: Option<usize>,
    ) -> ParseResult<()> {
        if self.arena.depth() >= DEPTH {
            return Err(Unsupported);
        }
        let id = self
            .arena
            .push(kind, Style::Block, Span::empty(at), indicator);
        self.arena.open(id, kind);
        self.blocks.push(Block { column, kind });
        Ok(())
    }

    /// Reads a `-` and the value after it.
    fn item(&mut self, dash: usize) -> ParseResult<()> {
        let at = self.skip_blanks(dash + 1);
        if self.line_ends(at) {
            self.awaiting = Some(dash);
            return self.end_line(dash + 1);
        }
        if matches!(self.byte(at), Some(b'|' | b'>')) {
            return self.block_scalar(at, Some(dash));
        }
        self.node(at, at - self.line, Some(dash))
    }

    fn entry(&mut self, at: usize) -> ParseResult<()> {
        let token = self.find_scalar(at)?;
        self.key(&token)
    }

    /// Reads a key and the value after it on the same line.
    fn key(&mut self, token: &ScalarToken) -> ParseResult<()> {
        let colon = token.colon.ok_or(Unsupported)?;
        self.push_scalar(token, None)?;
        let at = self.skip_blanks(colon);
        if self.line_ends(at) {
            self.awaiting = Some(colon);
            return self.end_line(colon);
        }
        match self.byte(at) {
            Some(b'{' | b'[') => self.flow_value(at, Some(colon)),
            Some(b'|' | b'>') => self.block_scalar(at, Some(colon)),
            Some(b'-') if self.is_dash(at)? => Err(Unsupported),
            _ => {
                let token = self.find_scalar(at)?;
                if token.colon.is_some() {
                    return Err(Unsupported);
                }
                self.lone_scalar(&token, Some(colon))
            }
        }
    }

    /// Reads a scalar that is not a key. Only a comment may follow it on its line.
    fn lone_scalar(&mut self, token: &ScalarToken, indicator: Option<usize>) -> ParseResult<()> {
        // A text without keys is not a manifest.
        if self.blocks.is_empty() {
            return Err(Unsupported);
        }
        let id = if token.folded {
            self.push_folded(token, indicator)?
        } else {
            self.push_scalar(token, indicator)?
        };
        self.end_line(token.end)?;
        self.plain = (token.style == Style::Plain).then_some(id);
        Ok(())
    }

    /// Reads a flow collection that is the whole value.
    fn flow_value(&mut self, at: usize, indicator: Option<usize>) -> ParseResult<()> {
        let end = self.flow(at, indicator)?;
        self.end_line(end)
    }
}

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
