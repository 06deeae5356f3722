//! Quoted scalars whose next lines are not indented deeper than their mapping or sequence.
//!
//! YAML 1.2 forbids them, and granit-parser rejects them; libyaml and go-yaml, and so kubectl and kustomize, read them.
//! White space at the start of these lines is not part of the value, so the parser reads a copy of the document with more
//! of it, and the positions that it reports are mapped back.
//!
//! The parser stops at the first such scalar, and one pass for each would be quadratic. A pass therefore also indents
//! all later texts that look like one; the parsed nodes show which of them were part of something else.

use std::sync::Arc;

use hashbrown::HashSet;

use super::builder;
use super::builder::Fault;
use crate::arena::Arena;
use crate::comment::content_start;
use crate::span::Span;
use crate::syntax_error::SyntaxError;

/// Bytes that may be parsed in total, in addition to [`PARSES`] times the document.
const WORK: usize = 1 << 24;
/// The number of times that a document of any size may be parsed.
const PARSES: usize = 8;
/// Blanks that may be inserted in addition to the length of the document, which limits the memory for the copy.
const SLACK: usize = 1 << 20;
/// Length of anchors and tags in front of a quote that are recognized ahead of the parser.
const PROPERTY: usize = 64;

/// Reads a document with a quoted scalar that the parser rejects.
///
/// # Errors
/// As [`parse_fully`](super::parse_fully).
pub(super) fn read(
    text: &Arc<str>,
    segment: Span,
    max_nodes: usize,
    fault: Box<Fault>,
) -> Result<Arena, SyntaxError> {
    let base = content_start(text, segment);
    let mut copy = Copy {
        source: Span::new(base, segment.end).slice(text),
        base,
        scalars: Vec::new(),
        required: 0,
        rejected: HashSet::new(),
        suspected: None,
        error: None,
    };
    let mut left = WORK.saturating_add(segment.len().saturating_mul(PARSES));
    let mut error = fault.error.clone();
    let mut result = Err(fault);
    loop {
        let is_changed = match &result {
            Ok(arena) => copy.reject_misread(arena, segment.end),
            Err(fault) => copy.reject_misread(&fault.arena, fault.cursor) || copy.repair(fault),
        };
        if !is_changed {
            return result.map_err(|fault| copy.error.take().unwrap_or(fault.error));
        }
        let padding = Padding::of(copy.source, &copy.scalars);
        let rest = left.checked_sub(copy.source.len());
        let Some(rest) = rest.filter(|_| padding.added() <= copy.source.len() + SLACK) else {
            return Err(error);
        };
        left = rest;
        let padded: Arc<str> = padding.applied(copy.source).into();
        let place = |at| base + padding.original(at);
        result = builder::read(&padded, Span::new(0, str::len(&padded)), max_nodes);
        match &mut result {
            Ok(arena) => arena.relocate(text, segment, place),
            Err(fault) => {
                fault.arena.relocate(text, segment, place);
                fault.cursor = place(fault.cursor);
                fault.error.offset = place(fault.error.offset);
                error = fault.error.clone();
            }
        }
    }
}

/// A document, and the scalars whose lines are indented in the copy that is parsed.
struct Copy<'a> {
    source: &'a str,
    /// Offset of the source in the file.
    base: usize,
    /// In the order of the text.
    scalars: Vec<Span>,
    /// The start of the last scalar at which the parser stopped; those after it are guesses.
    required: usize,
    /// The starts of texts that were taken for scalars.
    rejected: HashSet<usize>,
    /// The start of the last guess that was rejected because of an error behind it, with the error.
    suspected: Option<(usize, SyntaxError)>,
    /// The error to report: that behind a suspected guess which is a scalar.
    error: Option<SyntaxError>,
}

impl Copy<'_> {
    /// Rejects the guesses in front of `end` that are not quoted scalars of the tree; returns whether there are any.
    fn reject_misread(&mut self, arena: &Arena, end: usize) -> bool {
        if self.scalars.is_empty() {
            return false;
        }
        let quoted = arena.quoted_starts();
        let starts = self.scalars.iter().map(|scalar| scalar.start);
        let misread: Vec<usize> = starts
            .filter(|at| self.base + at < end && !quoted.contains(&(self.base + at)))
            .collect();
        let Some(first) = misread.first() else {
            return false;
        };
        self.rejected.extend(&misread);
        self.guess_from(*first, first + 1);
        true
    }

    /// Indents the scalar that is the fault, and guesses the next ones; returns `false` if that has been done. After
    /// another fault, rejects the guess in front of it.
    fn repair(&mut self, fault: &Fault) -> bool {
        let at = fault.cursor - self.base;
        if !fault.is_outdented {
            let is_suspect = |scalar: &&Span| {
                scalar.start >= at.max(self.required + 1)
                    && self.base + scalar.start < fault.error.offset
            };
            let Some(start) = self
                .scalars
                .iter()
                .find(is_suspect)
                .map(|scalar| scalar.start)
            else {
                return false;
            };
            self.suspected = Some((start, fault.error.clone()));
            self.rejected.insert(start);
            self.guess_from(start, start + 1);
            return true;
        }
        let Some(scalar) = quoted_scalar(self.source, at) else {
            return false;
        };
        if self.rejected.contains(&scalar.start) || self.scalars.contains(&scalar) {
            let suspected = self
                .suspected
                .take()
                .filter(|(start, _)| *start == scalar.start);
            self.error = suspected.map(|(_, error)| error);
            return false;
        }
        self.required = scalar.start;
        self.guess_from(scalar.start, scalar.end);
        let index = self
            .scalars
            .partition_point(|other| other.start < scalar.start);
        self.scalars.insert(index, scalar);
        true
    }

    /// Replaces the scalars that start at `start` or behind it by the texts from `from` on that look like a quoted scalar
    /// of several lines.
    fn guess_from(&mut self, start: usize, mut from: usize) {
        self.scalars.retain(|scalar| scalar.start < start);
        let bytes = self.source.as_bytes();
        let rest = |from: usize| bytes.get(from..).unwrap_or_default();
        while let Some(found) = memchr::memchr2(b'\'', b'"', rest(from)) {
            let at = from + found;
            from = at + 1;
            if !follows_indicator(bytes.get(..at).unwrap_or_default()) {
                continue;
            }
            let Some(end) = quote_end(bytes, at) else {
                break;
            };
            let scalar = Span::new(at, end);
            let has_lines = memchr::memchr2(b'\n', b'\r', scalar.slice(self.source).as_bytes());
            if has_lines.is_none() {
                from = end;
            } else if !self.rejected.contains(&at) {
                self.scalars.push(scalar);
                from = end;
            }
        }
    }
}

/// Returns whether a quote behind `before` can start a scalar: at the start of a line, or behind an indicator, an anchor
/// or a tag.
fn follows_indicator(before: &[u8]) -> bool {
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let blanks = before
        .iter()
        .rev()
        .take_while(|byte| is_blank(byte))
        .count();
    let before = before.get(..before.len() - blanks).unwrap_or_default();
    match before.last() {
        None | Some(b'\n' | b'\r') => true,
        Some(_) if blanks == 0 => false,
        Some(b':' | b'-' | b'?') => true,
        Some(_) => {
            let word = before.iter().rev().take(PROPERTY);
            let first = word.take_while(|byte| !byte.is_ascii_whitespace()).last();
            matches!(first, Some(b'&' | b'!'))
        }
    }
}

/// Blanks that are inserted into a text, in the order of their places.
struct Padding(Vec<Insertion>);

/// Blanks inserted at one place.
struct Insertion {
    at: usize,
    /// The number of blanks inserted so far, these included.
    total: usize,
}

impl Padding {
    /// Indents the lines of scalars, but their first, to where the quote is, or deeper than the key in front of it.
    fn of(source: &str, scalars: &[Span]) -> Self {
        let mut padding = Self(Vec::new());
        for scalar in scalars {
            padding.indent(source.as_bytes(), *scalar);
        }
        padding
    }

    fn indent(&mut self, source: &[u8], scalar: Span) {
        let before = source.get(..scalar.start).unwrap_or_default();
        let line = memchr::memrchr2(b'\n', b'\r', before).map_or(0, |at| at + 1);
        let first = before.get(line..).unwrap_or_default();
        let indicators = first
            .iter()
            .take_while(|byte| matches!(byte, b' ' | b'-' | b'?' | b':'));
        let column = first.len().min(indicators.count() + 1);
        let text = source.get(scalar.start..scalar.end).unwrap_or_default();
        for at in memchr::memchr2_iter(b'\n', b'\r', text).map(|at| scalar.start + at + 1) {
            let rest = source.get(at..).unwrap_or_default();
            let blanks = rest.iter().take_while(|byte| **byte == b' ').count();
            // Whether a tab belongs to the indentation is for the parser to decide.
            let is_text = !matches!(rest.get(blanks), Some(b'\t' | b'\r' | b'\n'));
            if blanks < column && is_text {
                let total = self.added() + column - blanks;
                self.0.push(Insertion { at, total });
            }
        }
    }

    fn added(&self) -> usize {
        self.0.last().map_or(0, |insertion| insertion.total)
    }

    /// Returns the text with the blanks.
    fn applied(&self, source: &str) -> String {
        let mut padded = String::with_capacity(source.len() + self.added());
        let (mut done, mut added) = (0, 0);
        for insertion in &self.0 {
            padded.push_str(Span::new(done, insertion.at).slice(source));
            padded.extend(std::iter::repeat_n(' ', insertion.total - added));
            (done, added) = (insertion.at, insertion.total);
        }
        padded.push_str(source.get(done..).unwrap_or_default());
        padded
    }

    /// Returns the place in the source of a place in the padded copy.
    fn original(&self, at: usize) -> usize {
        let is_behind = |insertion: &Insertion| insertion.at + insertion.total <= at;
        let index = self.0.partition_point(is_behind);
        let insertion = |index: usize| self.0.get(index);
        let added = index.checked_sub(1).and_then(insertion);
        let plain = at - added.map_or(0, |insertion| insertion.total);
        // Within the blanks of an insertion: its place.
        insertion(index).map_or(plain, |next| plain.min(next.at))
    }
}

/// Returns the quoted scalar that starts behind `at`, where nothing but white space, comments, indicators and properties
/// comes before it.
fn quoted_scalar(source: &str, mut at: usize) -> Option<Span> {
    let bytes = source.as_bytes();
    loop {
        match bytes.get(at)? {
            b' ' | b'\t' | b'\r' | b'\n' | b'-' | b'?' | b':' => at += 1,
            b'#' => at += memchr::memchr(b'\n', bytes.get(at..)?)?,
            b'&' | b'!' => at += bytes.get(at..)?.iter().position(u8::is_ascii_whitespace)?,
            _ => return Some(Span::new(at, quote_end(bytes, at)?)),
        }
    }
}

/// Returns the end of the quoted scalar that starts at `at`.
fn quote_end(bytes: &[u8], at: usize) -> Option<usize> {
    let quote = *bytes.get(at).filter(|byte| matches!(byte, b'\'' | b'"'))?;
    let escape = if quote == b'"' { b'\\' } else { quote };
    let mut end = at + 1;
    loop {
        end += memchr::memchr2(quote, escape, bytes.get(end..)?)? + 1;
        let is_escape = match quote {
            b'"' => bytes.get(end - 1) == Some(&b'\\'),
            _ => bytes.get(end) == Some(&b'\''),
        };
        if !is_escape {
            return Some(end);
        }
        end += 1;
    }
}
