//! Fills the arena from the events of granit-parser.
//!
//! Its spans are exact for what has text of its own; indicators, headers and the ends of block
//! collections are found here by reading the gap between two events, which holds nothing but
//! white space, comments, indicators and properties.

use std::collections::HashMap;
use std::sync::Arc;

use granit_parser::{Event, Parser, ScalarStyle, StructureStyle};

use super::span::Span;
use super::tree::{Anchor, Kind, NONE, Node, Style, Tree};
use super::weight::TOO_HEAVY;

/// Why a document could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// Offset of the fault in the file, in bytes.
    pub offset: usize,
    /// What is wrong, in words for the user.
    pub message: String,
}

impl SyntaxError {
    /// Says what is wrong with `what`, such as "the document".
    #[must_use]
    pub fn told(&self, what: &str) -> String {
        let message = &self.message;
        if message == TOO_HEAVY {
            format!("{what} is too large: {message}")
        } else {
            format!("{what} is not YAML: {message}")
        }
    }
}

/// Parses the document that `segment` of `text` holds; `None` where it holds no content.
///
/// # Errors
/// [`SyntaxError`] for anything that is not YAML, nested deeper than 255, or longer than 4 GiB.
pub fn parse(text: &Arc<str>, segment: Span) -> Result<Option<Tree>, SyntaxError> {
    let source = segment.slice(text);
    let source = source.strip_prefix('\u{feff}').unwrap_or(source);
    let base = segment.end - source.len();
    if u32::try_from(segment.end).is_err() {
        return Err(SyntaxError {
            offset: 0,
            message: "the file is larger than 4 GiB".into(),
        });
    }
    let options = granit_parser::options! { emit_anchor_events: true };
    let mut builder = Builder::new(text, segment, base);
    for event in Parser::new_from_str_with_options(source, options) {
        match event {
            Ok((event, span)) => {
                let place = span.byte_range().unwrap_or_default();
                let tag = span.tag_span().and_then(|tag| tag.byte_range());
                builder.take(
                    event,
                    Span::new(base + place.start, base + place.end),
                    tag.map(|tag| Span::new(base + tag.start, base + tag.end)),
                );
            }
            Err(error) => {
                let offset = base + error.marker().byte_offset().unwrap_or_default();
                return Err(SyntaxError {
                    offset,
                    message: error.info(),
                });
            }
        }
    }
    Ok(builder.finish())
}

/// What is open while events come in.
struct Open {
    node: u32,
    children: Vec<u32>,
}

struct Builder<'a> {
    tree: Tree,
    text: &'a str,
    open: Vec<Open>,
    anchored: HashMap<usize, u32>,
    /// Behind the last token that has its place.
    cursor: usize,
    documents: usize,
}

/// What the gap before a node holds.
#[derive(Default)]
struct Gap {
    /// Offset of the first `-`.
    dash: Option<usize>,
    /// Offset of the first `-` behind an anchor or tag.
    inner_dash: Option<usize>,
    /// Offset behind the first `:`.
    colon: Option<usize>,
    /// Offset of the first `&` or `!`.
    properties: Option<usize>,
    /// Offset of `|` or `>`.
    header: Option<usize>,
}

impl<'a> Builder<'a> {
    fn new(text: &'a Arc<str>, segment: Span, base: usize) -> Self {
        let tree = Tree {
            text: Arc::clone(text),
            segment,
            nodes: Vec::new(),
            links: Vec::new(),
            decoded: Vec::new(),
            anchors: Vec::new(),
            root: NONE,
            has_merge_keys: false,
        };
        Self {
            tree,
            text,
            open: Vec::new(),
            anchored: HashMap::new(),
            cursor: base,
            documents: 0,
        }
    }

    fn finish(self) -> Option<Tree> {
        let root = self.tree.nodes.get(self.tree.root as usize)?;
        // A document of comments alone comes as one empty scalar.
        (root.style != Style::Empty).then_some(self.tree)
    }

    fn take(&mut self, event: Event<'_>, span: Span, tag: Option<Span>) {
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
                self.edit(node, |node| node.first = target);
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
            ScalarStyle::Literal => (Style::Literal, self.block_scalar(value, span, &gap)),
            ScalarStyle::Folded => (Style::Folded, self.block_scalar(value, span, &gap)),
        };
        let node = self.push(Kind::Scalar, style, place, &gap, tag);
        self.tree.has_merge_keys |= value == "<<";
        let mut value = value;
        if matches!(style, Style::Literal | Style::Folded) {
            value = self.without_invented_break(value, place);
        }
        if place.slice(self.text) != value {
            let index = u32::try_from(self.tree.decoded.len()).unwrap_or(NONE);
            self.tree.decoded.push(value.into());
            self.edit(node, |node| node.first = index);
        }
        self.cursor = span.end;
    }

    /// A block scalar at the end of a file without final line break has none in its value:
    /// go-yaml and libyaml read it so, the parser's family does not.
    fn without_invented_break<'v>(&self, value: &'v str, place: Span) -> &'v str {
        let header = place.slice(self.text).lines().next().unwrap_or_default();
        let at_end = place.end >= self.text.len() && !self.text.ends_with('\n');
        if at_end && !header.contains('-') {
            return value.strip_suffix('\n').unwrap_or(value);
        }
        value
    }

    fn block_scalar(&self, value: &str, span: Span, gap: &Gap) -> Span {
        let start = gap.header.unwrap_or(span.start);
        let header_end = self.line_end(start);
        let header = Span::new(start, header_end).slice(self.text);
        let header = header.split('#').next().unwrap_or_default();
        let last_line = value.trim_end_matches('\n').rsplit('\n').next();
        let last_line = last_line.unwrap_or_default();
        let blank_is_content = !last_line.is_empty() && last_line.trim().is_empty();
        let end = self.before_next_indentation(span.end);
        let below = Span::new(header_end, end).slice(self.text);
        let kept = if header.contains('+') || blank_is_content {
            below.strip_suffix('\n').unwrap_or(below)
        } else {
            // Blanks at the end of the last line belong to the value.
            let trimmed = below.trim_end_matches([' ', '\t', '\r', '\n']).len();
            let line_end = self.line_end(header_end + trimmed).min(end);
            Span::new(header_end, line_end).slice(self.text)
        };
        let kept = kept.strip_suffix('\r').unwrap_or(kept);
        if kept.trim_matches(['\r', '\n']).is_empty() && !kept.contains('\n') {
            return Span::new(start, start + header.trim_end().len());
        }
        Span::new(start, header_end + kept.len())
    }

    /// The span of a block scalar may reach into the line of the next token.
    fn before_next_indentation(&self, end: usize) -> usize {
        let before = self.text.get(..end).unwrap_or_default();
        let line = before.rsplit('\n').next().unwrap_or_default();
        let inside = !matches!(self.byte(end), None | Some(b'\r' | b'\n'));
        if inside && line.bytes().all(|byte| byte == b' ') {
            end - line.len()
        } else {
            end
        }
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
            // The event lies at the end of the key: step over the `:` if one is written.
            let next = self.skip_trivia(reported);
            if self.expects_value() && self.byte(next) == Some(b':') {
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
            // A sequence that is not indented is reported at its first item, behind the dash.
            let dash = gap.dash.take().or(gap.inner_dash);
            place.start = dash.unwrap_or(span.start);
        }
        let node = self.push(kind, style, place, &gap, tag);
        self.open.push(Open {
            node,
            children: Vec::new(),
        });
        self.cursor = if style == Style::Flow {
            span.end
        } else {
            place.start
        };
    }

    fn close(&mut self, span: Span) {
        let Some(open) = self.open.pop() else { return };
        let first = u32::try_from(self.tree.links.len()).unwrap_or(NONE);
        let last_child = open
            .children
            .last()
            .and_then(|&id| self.tree.nodes.get(id as usize));
        let child_end = last_child.map(|node| node.span.end);
        self.tree.links.extend(open.children);
        let last = u32::try_from(self.tree.links.len()).unwrap_or(NONE);
        let end = if span.is_empty() {
            child_end
        } else {
            Some(span.end)
        };
        self.edit(open.node, |node| {
            node.first = first;
            node.last = last;
            node.span.end = end.unwrap_or(node.span.end).max(node.span.start);
        });
        if !span.is_empty() {
            self.cursor = span.end;
        }
    }

    fn push(&mut self, kind: Kind, style: Style, span: Span, gap: &Gap, tag: Option<Span>) -> u32 {
        let id = u32::try_from(self.tree.nodes.len()).unwrap_or(NONE);
        let indicator = if self.inside_sequence() {
            gap.dash
        } else {
            gap.colon
        };
        let indicator = indicator
            .and_then(|at| u32::try_from(at).ok())
            .unwrap_or(NONE);
        let parent = self.open.last().map_or(NONE, |open| open.node);
        let outer = tag.map_or(span.start, |tag| tag.start.min(span.start));
        let node = Node {
            kind,
            style,
            span,
            outer,
            first: NONE,
            last: NONE,
            anchor: NONE,
            tag,
            parent,
            indicator,
        };
        self.tree.nodes.push(node);
        match self.open.last_mut() {
            Some(open) => open.children.push(id),
            None => self.tree.root = id,
        }
        id
    }

    fn edit(&mut self, id: u32, change: impl FnOnce(&mut Node)) {
        if let Some(node) = self.tree.nodes.get_mut(id as usize) {
            change(node);
        }
    }

    fn name_anchor(&mut self, anchor: usize) {
        if anchor != 0 {
            let id = u32::try_from(self.tree.nodes.len().saturating_sub(1)).unwrap_or(NONE);
            self.anchored.insert(anchor, id);
        }
    }

    fn place_anchor(&mut self, span: Span) {
        let index = u32::try_from(self.tree.anchors.len()).unwrap_or(NONE);
        self.tree.anchors.push(Anchor { span });
        let id = u32::try_from(self.tree.nodes.len().saturating_sub(1)).unwrap_or(NONE);
        self.edit(id, |node| {
            node.anchor = index;
            node.outer = node.outer.min(span.start);
        });
    }

    fn inside_sequence(&self) -> bool {
        self.open_kind() == Some(Kind::Sequence)
    }

    fn open_kind(&self) -> Option<Kind> {
        let open = self.open.last()?;
        self.tree
            .nodes
            .get(open.node as usize)
            .map(|node| node.kind)
    }

    /// The next child of the open mapping is a value.
    fn expects_value(&self) -> bool {
        self.open_kind() == Some(Kind::Mapping)
            && self
                .open
                .last()
                .is_some_and(|open| open.children.len() % 2 == 1)
    }

    fn byte(&self, at: usize) -> Option<u8> {
        self.text.as_bytes().get(at).copied()
    }

    /// Reads what lies between the cursor and the next node.
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
        let rest = self.text.as_bytes().get(at..).unwrap_or_default();
        memchr::memchr(b'\n', rest).map_or(self.text.len(), |found| at + found)
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

#[cfg(test)]
mod tests;
