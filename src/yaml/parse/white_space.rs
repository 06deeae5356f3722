//! Quoted scalars whose next lines are not indented deeper than their mapping or sequence, and tabs at the start of
//! lines within quotes and brackets.
//!
//! granit-parser rejects both, and YAML 1.2 forbids the former; libyaml and go-yaml, and so kubectl and kustomize, read
//! them. White space at the start of these lines is not part of a value, so the parser reads a copy of the document with
//! other white space, and the positions that it reports are mapped back.

use std::iter;
use std::sync::Arc;

use crate::yaml::arena::Arena;
use crate::yaml::span::Span;
use crate::yaml::tree::Style;

use super::events::{self, content_start};
use super::fault::{Fault, Repair};
use crate::yaml::syntax_error::SyntaxError;

/// Bytes that may be parsed in total: the document is parsed again, up to its next fault, for each
/// scalar of this kind. The fast parser reads ordinary documents with any number of them.
const WORK: usize = 1 << 24;

/// Reads a document in which such a scalar or tab is the first fault.
///
/// # Errors
/// As [`parse_fully`](super::parse_fully).
pub(super) fn read(
    text: &Arc<str>,
    segment: Span,
    max_nodes: usize,
    fault: Fault,
) -> Result<Arena, SyntaxError> {
    let mut copy = Copy::new(text, segment);
    let Fault { mut error, repair } = fault;
    let mut next_repair = repair;
    let mut has_tab_outside = false;
    let mut work = 0;
    while let Some(repair) = next_repair
        && work < WORK
        && copy.repair(&repair)
    {
        // A tab outside of quotes is the fault, whatever follows it.
        has_tab_outside |= matches!(repair, Repair::Tabs { in_quotes: false });
        match copy.parse(max_nodes) {
            Ok(arena) => return copy.restore_tabs(arena, max_nodes, error),
            Err(next) => {
                work += next.error.offset - copy.base;
                if !has_tab_outside || next.error.is_over_limit() {
                    error = next.error;
                }
                next_repair = next.repair;
            }
        }
    }
    Err(copy.error_at_tab(error, max_nodes))
}

/// A copy of a document with other white space.
struct Copy<'a> {
    text: &'a Arc<str>,
    segment: Span,
    /// Where the copy starts in the file.
    base: usize,
    /// The document with blanks in place of `tabs`.
    source: String,
    /// White space at the start of lines that contains a tab.
    tabs: Vec<Span>,
    padding: Padding,
}

impl<'a> Copy<'a> {
    fn new(text: &'a Arc<str>, segment: Span) -> Self {
        let base = content_start(text, segment);
        Self {
            text,
            segment,
            base,
            source: Span::new(base, segment.end).slice(text).to_owned(),
            tabs: Vec::new(),
            padding: Padding::default(),
        }
    }

    /// Changes the white space as a fault requires; `false` where that has been done or is not possible.
    fn repair(&mut self, repair: &Repair) -> bool {
        match *repair {
            Repair::Indent { after } => quoted_scalar(&self.source, after - self.base)
                .is_some_and(|scalar| self.padding.indent(&self.source, scalar)),
            Repair::Tabs { .. } if self.tabs.is_empty() => {
                // All tabs at once: one parse for each run of lines would be quadratic. Scalars are
                // padded again, now with these lines.
                self.replace_tabs(leading_tabs(&self.source));
                self.padding = Padding::default();
                !self.tabs.is_empty()
            }
            Repair::Tabs { .. } => false,
        }
    }

    fn replace_tabs(&mut self, tabs: Vec<Span>) {
        let original = Span::new(self.base, self.segment.end).slice(self.text);
        self.source = with_blanks(original, &tabs);
        self.tabs = tabs;
    }

    /// Parses the copy. All offsets that are returned are those of the file.
    fn parse(&self, max_nodes: usize) -> Result<Arena, Fault> {
        let padded: Arc<str> = self.padding.applied(&self.source).into();
        let place = |at| self.base + self.padding.original(at);
        match events::read(&padded, Span::new(0, str::len(&padded)), max_nodes) {
            Ok(mut arena) => {
                arena.relocate(self.text, self.segment, place);
                Ok(arena)
            }
            Err(fault) => Err(Fault {
                error: SyntaxError {
                    offset: place(fault.error.offset),
                    message: fault.error.message,
                },
                repair: fault.repair.map(|repair| repair.moved(place)),
            }),
        }
    }

    /// Parses again with the tabs that are not within quotes and brackets. In a block scalar they are a part of the
    /// value, and elsewhere kubectl and kustomize may reject them.
    ///
    /// # Errors
    /// What is wrong with the restored document; `error` where tabs and padding are no longer within quotes and brackets.
    fn restore_tabs(
        mut self,
        arena: Arena,
        max_nodes: usize,
        error: SyntaxError,
    ) -> Result<Arena, SyntaxError> {
        let within = self.within_quotes_and_brackets(&arena, &self.tabs);
        if within.len() == self.tabs.len() {
            return Ok(arena);
        }
        self.replace_tabs(within);
        let arena = self.parse(max_nodes).map_err(|fault| fault.error)?;
        let padded = self.padding.lines.iter();
        let padded: Vec<Span> = padded.map(|(line, _)| Span::empty(*line)).collect();
        let is_unchanged = [&self.tabs, &padded]
            .into_iter()
            .all(|lines| self.within_quotes_and_brackets(&arena, lines).len() == lines.len());
        is_unchanged.then_some(arena).ok_or(error)
    }

    /// Returns the error of the tabs where the fault is the first content behind replaced ones, which would not be
    /// understood from blanks.
    fn error_at_tab(mut self, error: SyntaxError, max_nodes: usize) -> SyntaxError {
        let at = error.offset - self.base;
        let line = self.tabs.partition_point(|tab| tab.end < at);
        let is_behind_tabs = self.tabs.get(line).is_some_and(|tab| tab.end == at);
        if !is_behind_tabs || error.is_over_limit() {
            return error;
        }
        let earlier = self.tabs.iter().take(line).copied().collect();
        self.replace_tabs(earlier);
        self.parse(max_nodes)
            .err()
            .map_or(error, |fault| fault.error)
    }

    /// Returns those of `lines`, which are in order, that start where white space is not part of a value: within quotes,
    /// or between the tokens of a flow collection.
    fn within_quotes_and_brackets(&self, arena: &Arena, lines: &[Span]) -> Vec<Span> {
        let scalars_and_brackets = |(style, _): &(Style, Span)| *style != Style::Block;
        let mut nodes = arena.nodes().filter(scalars_and_brackets).peekable();
        let mut scalar = (Style::Empty, Span::empty(0));
        let mut brackets_end = 0;
        let mut is_within = |line: usize| {
            while let Some((style, span)) = nodes.next_if(|(_, span)| span.start < line) {
                if style == Style::Flow {
                    brackets_end = brackets_end.max(span.end);
                } else {
                    scalar = (style, span);
                }
            }
            let (style, span) = scalar;
            if line < span.end {
                matches!(style, Style::SingleQuoted | Style::DoubleQuoted)
            } else {
                line < brackets_end
            }
        };
        let lines = lines.iter().copied();
        lines
            .filter(|line| is_within(self.base + line.start))
            .collect()
    }
}

/// Returns the white space at the start of each line where it contains a tab.
fn leading_tabs(source: &str) -> Vec<Span> {
    let bytes = source.as_bytes();
    let breaks = memchr::memchr2_iter(b'\n', b'\r', bytes);
    let starts = iter::once(0).chain(breaks.map(|at| at + 1));
    let white_space = starts.map(|start| {
        let rest = bytes.get(start..).unwrap_or_default().iter();
        let length = rest.take_while(|byte| matches!(byte, b' ' | b'\t'));
        Span::new(start, start + length.count())
    });
    white_space
        .filter(|place| place.slice(source).contains('\t'))
        .collect()
}

/// Returns the text with blanks in these places.
fn with_blanks(source: &str, places: &[Span]) -> String {
    let mut changed = String::with_capacity(source.len());
    let mut done = 0;
    for place in places {
        changed.push_str(Span::new(done, place.start).slice(source));
        changed.extend(iter::repeat_n(' ', place.len()));
        done = place.end;
    }
    changed.push_str(source.get(done..).unwrap_or_default());
    changed
}

/// Returns the quoted scalar that starts behind `at`, where nothing but white space, comments,
/// indicators and properties comes before it.
fn quoted_scalar(source: &str, mut at: usize) -> Option<Span> {
    let bytes = source.as_bytes();
    loop {
        match bytes.get(at)? {
            b' ' | b'\t' | b'\r' | b'\n' | b'-' | b'?' | b':' => at += 1,
            b'#' => at += memchr::memchr(b'\n', bytes.get(at..)?)?,
            b'&' | b'!' => at += bytes.get(at..)?.iter().position(u8::is_ascii_whitespace)?,
            b'\'' => return single_end(bytes, at + 1).map(|end| Span::new(at, end)),
            b'"' => return double_end(bytes, at + 1).map(|end| Span::new(at, end)),
            _ => return None,
        }
    }
}

fn single_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at += memchr::memchr(b'\'', bytes.get(at..)?)? + 1;
        if bytes.get(at) != Some(&b'\'') {
            return Some(at);
        }
        at += 1;
    }
}

fn double_end(bytes: &[u8], mut at: usize) -> Option<usize> {
    loop {
        at += memchr::memchr2(b'"', b'\\', bytes.get(at..)?)? + 1;
        if bytes.get(at - 1) == Some(&b'"') {
            return Some(at);
        }
        at += 1;
    }
}

/// Blanks that are added at the start of lines.
#[derive(Default)]
struct Padding {
    /// Where they are added, in order, with the number of blanks added so far, these included.
    lines: Vec<(usize, usize)>,
}

impl Padding {
    fn added(&self) -> usize {
        self.lines.last().map_or(0, |(_, total)| *total)
    }

    /// Indents the lines of a scalar, but its first, to where its quote is, or deeper than the key in front of it;
    /// `false` where there is nothing to indent, or too much.
    fn indent(&mut self, source: &str, scalar: Span) -> bool {
        let line_start = |at: usize| {
            let before = source.as_bytes().get(..at).unwrap_or_default();
            memchr::memrchr2(b'\n', b'\r', before).map_or(0, |at| at + 1)
        };
        let first = Span::new(line_start(scalar.start), scalar.start).slice(source);
        let key = first.trim_start_matches([' ', '-', '?', ':']);
        let column = first.len().min(first.len() - key.len() + 1);
        let known = self.lines.last().map_or(0, |(line, _)| line + 1);
        let before = self.added();
        let text = scalar.slice(source).as_bytes();
        for at in memchr::memchr2_iter(b'\n', b'\r', text).map(|at| scalar.start + at + 1) {
            let rest = source.as_bytes().get(at..).unwrap_or_default();
            let blanks = rest.iter().take_while(|byte| **byte == b' ').count();
            // Where a tab belongs to the indentation is for the parser to judge.
            let is_text = !matches!(rest.get(blanks), Some(b'\t' | b'\r' | b'\n'));
            if at >= known && blanks < column && is_text {
                self.lines.push((at, self.added() + column - blanks));
            }
        }
        self.added() > before && self.added() <= source.len().saturating_add(1 << 16)
    }

    fn applied(&self, source: &str) -> String {
        let mut padded = String::with_capacity(source.len() + self.added());
        let (mut done, mut added) = (0, 0);
        for (line, total) in &self.lines {
            padded.push_str(Span::new(done, *line).slice(source));
            padded.extend(iter::repeat_n(' ', total - added));
            (done, added) = (*line, *total);
        }
        padded.push_str(source.get(done..).unwrap_or_default());
        padded
    }

    /// Returns the place in the source of a place in the padded copy.
    fn original(&self, at: usize) -> usize {
        let behind = |(line, total): &(usize, usize)| line + total <= at;
        let index = self.lines.partition_point(behind);
        let total = |index: usize| self.lines.get(index).map_or(0, |(_, total)| *total);
        let plain = at - index.checked_sub(1).map_or(0, total);
        // Within the blanks of a line: its start.
        self.lines
            .get(index)
            .map_or(plain, |(line, _)| plain.min(*line))
    }
}
