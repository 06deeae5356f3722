//! The fast parser: ordinary block YAML, line by line, in one pass.
//!
//! It fills the same arena as the full parser or declines. It never reports a fault: whatever it
//! is not sure of, it leaves to the full parser, whose words the user then reads. So it knows no
//! anchors, tags, merge keys by alias, directives, explicit keys, tabs between tokens, indentation
//! indicators, nor lines that parsers disagree on.
//!
//! Source of the rules: YAML 1.2.2, and granit-parser 2.1.0 where a token gets its place.

mod flow;
mod folding;
mod lines;
mod literal;
mod scalars;

use std::sync::Arc;

use super::arena::Arena;
use super::span::Span;
use super::tree::{Kind, Style, Tree};
use lines::ordinary;
use scalars::Found;

/// Collections within each other; the full parser has the say on deeper ones.
const DEPTH: usize = 200;

/// The text is left to the full parser.
#[derive(Debug)]
struct Declined;

type Read<T> = Result<T, Declined>;

/// A block collection whose end has not come yet.
#[derive(Clone, Copy)]
struct Block {
    column: usize,
    kind: Kind,
}

struct Reader<'a> {
    text: &'a str,
    /// The text up to the end of the document.
    bytes: &'a [u8],
    arena: Arena,
    blocks: Vec<Block>,
    /// Where the line starts that is read.
    line: usize,
    /// Where to read on: the start of a line.
    at: usize,
    /// The end of the `:`, or the `-`, whose value has not come yet.
    awaiting: Option<usize>,
    /// The plain scalar that the next line may go on with.
    plain: Option<u32>,
}

/// Parses the document that `segment` of `text` holds if it is written the ordinary way; `None`
/// leaves it to [`parse_fully`](super::parse_fully), which returns an equal tree for what is
/// parsed here.
#[must_use]
pub fn parse_ordinary(text: &Arc<str>, segment: Span) -> Option<Tree> {
    parse_ordinary_within(text, segment, usize::MAX)
        .ok()
        .flatten()
}

/// There are more nodes than allowed.
pub(super) struct OverLimit;

/// Parses as [`parse_ordinary`] does, but no more than `max_nodes` nodes.
pub(super) fn parse_ordinary_within(
    text: &Arc<str>,
    segment: Span,
    max_nodes: usize,
) -> Result<Option<Tree>, OverLimit> {
    let source = segment.slice(text);
    let source = source.strip_prefix('\u{feff}').unwrap_or(source);
    if u32::try_from(segment.end).is_err() || !ordinary(source) {
        return Ok(None);
    }
    let mut reader = Reader {
        text,
        bytes: text.as_bytes().get(..segment.end).unwrap_or_default(),
        arena: Arena::new(text, segment),
        blocks: Vec::new(),
        line: 0,
        at: segment.end - source.len(),
        awaiting: None,
        plain: None,
    };
    reader.arena.limit_nodes(max_nodes);
    let read = reader.document();
    if reader.arena.is_full() {
        return Err(OverLimit);
    }
    if read.is_err() {
        return Ok(None);
    }
    reader.close_all();
    if reader.arena.overflows() {
        return Ok(None);
    }
    Ok(reader.arena.finish())
}

impl Reader<'_> {
    fn document(&mut self) -> Read<()> {
        let mut marked = false;
        while let Some(at) = self.next_content()? {
            if self.arena.is_full() {
                return Err(Declined);
            }
            let column = at - self.line;
            if column == 0 && self.is_marker(at) {
                if self.byte(at) == Some(b'.') {
                    return self.behind_the_end(at);
                }
                if marked || self.arena.has_nodes() {
                    return Err(Declined);
                }
                marked = true;
                self.end_line(at + 3)?;
            } else {
                self.content(at, column)?;
            }
        }
        Ok(())
    }

    fn close_all(&mut self) {
        self.settle();
        while self.blocks.pop().is_some() {
            self.arena.close(None);
        }
    }

    /// Behind `...` nothing but comments may come.
    fn behind_the_end(&mut self, at: usize) -> Read<()> {
        self.end_line(at + 3)?;
        if !self.arena.has_nodes() || self.next_content()?.is_some() {
            return Err(Declined);
        }
        Ok(())
    }

    /// Reads a line from its first byte that is no blank.
    fn content(&mut self, at: usize, column: usize) -> Read<()> {
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
            self.settle();
        } else if column > top.column {
            return self.go_on(plain.ok_or(Declined)?, at, top.column);
        }
        self.close_to(column, dash);
        match self.blocks.last() {
            Some(top) if top.column == column => match (top.kind, dash) {
                (Kind::Sequence, true) => self.item(at),
                (Kind::Mapping, false) => self.entry(at),
                _ => Err(Declined),
            },
            _ => Err(Declined),
        }
    }

    /// Ends the collections that a line in `column` does not belong to. A sequence may stand in
    /// the column of its key: then the next key ends it.
    fn close_to(&mut self, column: usize, dash: bool) {
        while let Some(top) = self.blocks.last() {
            let beside = top.column == column && top.kind == Kind::Sequence && !dash;
            if top.column <= column && !beside {
                break;
            }
            self.blocks.pop();
            self.arena.close(None);
        }
    }

    fn root(&mut self, at: usize, column: usize) -> Read<()> {
        if self.arena.has_nodes() {
            return Err(Declined);
        }
        self.node(at, column, None)
    }

    /// A key or a dash with nothing behind it.
    fn settle(&mut self) {
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

    /// Reads a value in a place where a collection may begin.
    fn node(&mut self, at: usize, column: usize, indicator: Option<usize>) -> Read<()> {
        if self.is_dash(at)? {
            self.begin(Kind::Sequence, at, column, indicator)?;
            return self.item(at);
        }
        match self.byte(at) {
            Some(b'{' | b'[') => self.flow_value(at, indicator),
            _ => {
                let found = self.find_scalar(at)?;
                if found.colon.is_some() {
                    self.begin(Kind::Mapping, at, column, indicator)?;
                    return self.key(&found);
                }
                self.lone_scalar(&found, indicator)
            }
        }
    }

    fn begin(
        &mut self,
        kind: Kind,
        at: usize,
        column: usize,
        indicator: Option<usize>,
    ) -> Read<()> {
        if self.arena.depth() >= DEPTH {
            return Err(Declined);
        }
        let id = self
            .arena
            .push(kind, Style::Block, Span::empty(at), indicator);
        self.arena.open(id, kind);
        self.blocks.push(Block { column, kind });
        Ok(())
    }

    /// Reads a `-` and what stands behind it.
    fn item(&mut self, dash: usize) -> Read<()> {
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

    fn entry(&mut self, at: usize) -> Read<()> {
        let found = self.find_scalar(at)?;
        self.key(&found)
    }

    /// Reads a key and what stands behind it in its line.
    fn key(&mut self, found: &Found) -> Read<()> {
        let colon = found.colon.ok_or(Declined)?;
        self.push_scalar(found, None)?;
        let at = self.skip_blanks(colon);
        if self.line_ends(at) {
            self.awaiting = Some(colon);
            return self.end_line(colon);
        }
        match self.byte(at) {
            Some(b'{' | b'[') => self.flow_value(at, Some(colon)),
            Some(b'|' | b'>') => self.block_scalar(at, Some(colon)),
            Some(b'-') if self.is_dash(at)? => Err(Declined),
            _ => {
                let found = self.find_scalar(at)?;
                if found.colon.is_some() {
                    return Err(Declined);
                }
                self.lone_scalar(&found, Some(colon))
            }
        }
    }

    /// A scalar that is no key: nothing but a comment follows in its line.
    fn lone_scalar(&mut self, found: &Found, indicator: Option<usize>) -> Read<()> {
        // A text without keys is no manifest.
        if self.blocks.is_empty() {
            return Err(Declined);
        }
        let id = if found.folded {
            self.push_folded(found, indicator)?
        } else {
            self.push_scalar(found, indicator)?
        };
        self.end_line(found.end)?;
        self.plain = (found.style == Style::Plain).then_some(id);
        Ok(())
    }

    /// Reads a flow collection that is the whole value.
    fn flow_value(&mut self, at: usize, indicator: Option<usize>) -> Read<()> {
        let behind = self.flow(at, indicator)?;
        self.end_line(behind)
    }
}
