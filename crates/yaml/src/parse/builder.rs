//! Fills the arena from the events of granit-parser.
//!
//! Its spans are exact for nodes that have text of their own. This module finds indicators, headers and the ends of
//! block collections itself: it reads the gap between two events, which contains only white space, comments, indicators
//! and properties.
//!
//! Reads a document with granit-parser.

use std::sync::Arc;

use granit_parser::{ErrorKind, Event, Parser, ScalarStyle, StructureStyle};
use hashbrown::HashMap;

use crate::arena::Arena;
use crate::comment::content_start;
use crate::scalar::{block_span, line_end, without_invented_break};
use crate::span::Span;
use crate::syntax_error::{SyntaxError, too_many_nodes};
use crate::tree::{Kind, NONE, Style};

/// Builder of the tree, which takes the events in order.
pub(super) struct Builder<'a> {
    pub(super) arena: Arena,
    text: &'a str,
    anchored: HashMap<usize, u32>,
    /// Offset after the last token that has been placed.
    pub(super) cursor: usize,
    documents: usize,
}

/// Tokens found in the gap before a node.
#[derive(Default)]
struct Gap {
    /// Offset of the first `-`.
    dash: Option<usize>,
    /// Offset of the first `-` after an anchor or tag.
    inner_dash: Option<usize>,
    /// Offset after the first `:`.
    colon: Option<usize>,
    /// Offset of the first `&` or `!`.
    properties: Option<usize>,
    /// Offset of `|` or `>`.
    header: Option<usize>,
}

impl<'a> Builder<'a> {
    pub(super) fn new(text: &'a Arc<str>, segment: Span, base: usize) -> Self {
        Self {
            arena: Arena::new(text, segment),
            text,
            anchored: HashMap::new(),
            cursor: base,
            documents: 0,
        }
    }

    pub(super) fn take(&mut self, event: Event<'_>, span: Span, tag: Option<Span>) {
        match event {
            Event::DocumentStart(explicit, _) => {
                self.documents += 1;
                if explicit {
                    self.cursor = self.cursor.max(span.end);
                }
            }
            _ if self.documents > 1 => {}
            Event::Scalar(value, style, anchor, _) => {
                self.scalar(&value, style, span, tag);
                self.name_anchor(anchor);
            }
            Event::SequenceStart(style, anchor, _) => {
                self.collection(Kind::Sequence, style, span, tag);
                self.name_anchor(anchor);
            }
            Event::MappingStart(style, anchor, _) => {
                self.collection(Kind::Mapping, style, span, tag);
                self.name_anchor(anchor);
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(span),
            Event::Alias(id) => {
                let gap = self.gap(span.start);
                let target = self.anchored.get(&id).copied().unwrap_or(NONE);
                let node = self.push(Kind::Alias, Style::Plain, span, &gap, None);
                self.arena.set_target(node, target);
                self.cursor = span.end;
            }
            Event::Anchor(_, _) => self.place_anchor(span),
            _ => {}
        }
    }

    fn scalar(&mut self, value: &str, style: ScalarStyle, span: Span, tag: Option<Span>) {
        if style == ScalarStyle::Plain && span.is_empty() {
            return self.empty(span, tag);
        }
        let gap = self.gap(span.start);
        let (style, place) = match style {
            ScalarStyle::Plain => (Style::Plain, span),
            ScalarStyle::SingleQuoted => (Style::SingleQuoted, span),
            ScalarStyle::DoubleQuoted => (Style::DoubleQuoted, span),
            ScalarStyle::Literal => (Style::Literal, self.block_place(value, span, &gap)),
            ScalarStyle::Folded => (Style::Folded, self.block_place(value, span, &gap)),
        };
        let node = self.push(Kind::Scalar, style, place, &gap, tag);
        let mut value = value;
        if matches!(style, Style::Literal | Style::Folded) {
            value = without_invented_break(self.text, value, place);
        }
        if place.slice(self.text) == value {
            self.arena.record_plain(value);
        } else {
            let from = self.arena.decoded().len();
            self.arena.decoded().push_str(value);
            self.arena.set_decoded(node, from);
        }
        self.cursor = span.end;
    }

    fn block_place(&self, value: &str, span: Span, gap: &Gap) -> Span {
        let start = gap.header.unwrap_or(span.start);
        block_span(self.text, value, start, span.end)
    }

    fn empty(&mut self, span: Span, tag: Option<Span>) {
        let reported = span.start.max(self.cursor);
        let mut gap = self.gap(reported);
        let mut at = reported;
        if let Some(dash) = gap.dash {
            at = if gap.properties.is_some() {
                reported
            } else {
                dash + 1
            };
        } else if gap.colon.is_none() {
            // The position of the event is the end of the key, or the end of its mapping: skip the `:` if there is
            // one.
            let next = self.skip_trivia(reported);
            if self.arena.expects_value() && self.is_value_mark(reported, next) {
                at = next + 1;
                gap.colon = Some(at);
            }
        }
        self.push(Kind::Scalar, Style::Empty, Span::empty(at), &gap, tag);
        self.cursor = at;
    }

    fn collection(&mut self, kind: Kind, style: StructureStyle, span: Span, tag: Option<Span>) {
        let mut gap = self.gap(span.start);
        let style = match style {
            StructureStyle::Flow => Style::Flow,
            StructureStyle::Block => Style::Block,
        };
        let mut place = span;
        if kind == Kind::Sequence && style == Style::Block && !self.inside_sequence() {
            // The event of a sequence that is not indented is at its first item, after the dash.
            let dash = gap.dash.take().or(gap.inner_dash);
            place.start = dash.unwrap_or(span.start);
        }
        let node = self.push(kind, style, place, &gap, tag);
        self.arena.open(node, kind);
        self.cursor = if style == Style::Flow {
            span.end
        } else {
            place.start
        };
    }

    fn close(&mut self, span: Span) {
        self.arena.close((!span.is_empty()).then_some(span.end));
        if !span.is_empty() {
            self.cursor = span.end;
        }
    }

    fn push(&mut self, kind: Kind, style: Style, span: Span, gap: &Gap, tag: Option<Span>) -> u32 {
        let indicator = if self.inside_sequence() {
            gap.dash
        } else {
            gap.colon
        };
        let id = self.arena.push(kind, style, span, indicator);
        if let Some(tag) = tag
            && let Some(properties) = self.arena.properties(id)
        {
            properties.tag = Some(tag);
            properties.outer_start = properties.outer_start.min(tag.start);
        }
        id
    }

    fn name_anchor(&mut self, anchor: usize) {
        if anchor != 0 {
            self.anchored.insert(anchor, self.arena.newest());
        }
    }

    fn place_anchor(&mut self, span: Span) {
        let id = self.arena.newest();
        if let Some(properties) = self.arena.properties(id) {
            properties.anchor = Some(span);
            properties.outer_start = properties.outer_start.min(span.start);
        }
    }

    fn inside_sequence(&self) -> bool {
        self.arena.innermost() == Some(Kind::Sequence)
    }

    /// Returns whether `at` is the `:` of the last key, which ends at `from` at the latest. Another `:` may start a
    /// word, or belong to an outer mapping.
    fn is_value_mark(&self, from: usize, at: usize) -> bool {
        if self.byte(at) != Some(b':') {
            return false;
        }
        if self.arena.innermost_style() == Some(Style::Flow) {
            return true;
        }
        let starts_word = !matches!(self.byte(at + 1), None | Some(b' ' | b'\t' | b'\r' | b'\n'));
        if starts_word {
            return false;
        }
        let key = self.arena.last_child_start().unwrap_or(from);
        let mark = self.explicit_mark(key).map(|mark| self.column(mark));
        if key == at {
            // The event of an empty key is at the next token. If a `?` is further to the right, that token is the `:`
            // of an outer key.
            return mark.is_none_or(|mark| mark <= self.column(at));
        }
        // The event of a key without a value may be on a line below.
        let before = self.text.get(..at).unwrap_or_default();
        !before.trim_end_matches(' ').ends_with(['\n', '\r']) || mark == Some(self.column(at))
    }

    /// Returns the offset of the `?` in front of the key at `key`, if the key is explicit.
    fn explicit_mark(&self, key: usize) -> Option<usize> {
        let before = self.text.get(..key)?;
        let mut end = before.len();
        loop {
            let rest = before.get(..end)?;
            let start = memchr::memrchr2(b'\n', b'\r', rest.as_bytes()).map_or(0, |at| at + 1);
            let line = rest.get(start..)?;
            let comment = memchr::memmem::find(line.as_bytes(), b" #");
            let is_comment = line.starts_with('#');
            let code = line.get(..comment.unwrap_or(line.len()))?.trim_ascii_end();
            if !is_comment && !code.is_empty() {
                let is_explicit =
                    code.ends_with('?') && code.bytes().all(|byte| b" -?:".contains(&byte));
                return is_explicit.then(|| start + code.len() - 1);
            }
            end = start.checked_sub(1)?;
        }
    }

    fn column(&self, at: usize) -> usize {
        let before = self.text.as_bytes().get(..at).unwrap_or_default();
        at - memchr::memrchr2(b'\n', b'\r', before).map_or(0, |end| end + 1)
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.text.as_bytes().get(at).copied()
    }

    /// Returns the tokens between the cursor and the next node, which starts at `end`.
    fn gap(&self, end: usize) -> Gap {
        let mut gap = Gap::default();
        let mut at = self.cursor;
        while at < end {
            match self.byte(at) {
                Some(b'#') => at = self.line_end(at),
                Some(b'&' | b'!') => {
                    gap.properties.get_or_insert(at);
                    at = self.word_end(at);
                    continue;
                }
                Some(b'-') if gap.properties.is_none() => {
                    gap.dash.get_or_insert(at);
                }
                Some(b'-') => {
                    gap.inner_dash.get_or_insert(at);
                }
                Some(b':') => {
                    gap.colon.get_or_insert(at + 1);
                }
                Some(b'|' | b'>') => {
                    gap.header.get_or_insert(at);
                    at = self.line_end(at);
                }
                _ => {}
            }
            at += 1;
        }
        gap
    }

    fn line_end(&self, at: usize) -> usize {
        line_end(self.text, at)
    }

    fn word_end(&self, at: usize) -> usize {
        let rest = self.text.as_bytes().get(at..).unwrap_or_default();
        rest.iter()
            .position(u8::is_ascii_whitespace)
            .map_or(self.text.len(), |found| at + found)
    }

    fn skip_trivia(&self, mut at: usize) -> usize {
        while let Some(byte) = self.byte(at) {
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' => at += 1,
                b'#' => at = self.line_end(at),
                _ => break,
            }
        }
        at
    }
}

/// Parse error, with what is needed to resolve it.
pub(super) struct Fault {
    pub(super) error: SyntaxError,
    /// Whether a quoted scalar after the cursor has lines that are not indented deeper than its mapping or sequence.
    pub(super) is_outdented: bool,
    /// The end of the last token in the arena. Further tokens may precede the fault.
    pub(super) cursor: usize,
    /// The nodes before the fault.
    pub(super) arena: Arena,
}

/// Fills an arena with the document in `segment` of `text`.
pub(super) fn read(text: &Arc<str>, segment: Span, max_nodes: usize) -> Result<Arena, Box<Fault>> {
    let base = content_start(text, segment);
    let source = Span::new(base, segment.end).slice(text);
    let options = granit_parser::options! { emit_anchor_events: true };
    let mut builder = Builder::new(text, segment, base);
    builder.arena.limit_nodes(max_nodes);
    for event in Parser::new_from_str_with_options(source, options) {
        match event {
            Ok((event, span)) => {
                let range = span.byte_range().unwrap_or_default();
                let tag = span.tag_span().and_then(|tag| tag.byte_range());
                builder.take(
                    event,
                    Span::new(base + range.start, base + range.end),
                    tag.map(|tag| Span::new(base + tag.start, base + tag.end)),
                );
                if builder.arena.is_full() {
                    let error = too_many_nodes(base + range.start);
                    return Err(fault(builder, error, false));
                }
            }
            Err(error) => {
                let syntax_error = SyntaxError {
                    offset: base + error.marker().byte_offset().unwrap_or_default(),
                    message: error.info(),
                };
                let is_outdented = matches!(error.kind(), ErrorKind::InvalidQuotedScalarIndent);
                return Err(fault(builder, syntax_error, is_outdented));
            }
        }
    }
    Ok(builder.arena)
}

fn fault(builder: Builder<'_>, error: SyntaxError, is_outdented: bool) -> Box<Fault> {
    Box::new(Fault {
        error,
        is_outdented,
        cursor: builder.cursor,
        arena: builder.arena,
    })
}
