//! Quoted scalars whose next lines are not indented deeper than their mapping or sequence.
//!
//! YAML 1.2 forbids them, and so does granit-parser; libyaml and go-yaml, and so kubectl and
//! kustomize, read them. White space at the start of these lines is not part of the value, so the
//! parser is given a copy of the document where they are indented, and the places that it reports
//! are mapped back.

use std::sync::Arc;

use crate::yaml::arena::Arena;
use crate::yaml::span::Span;

use super::{Fault, SyntaxError, content_start};

/// Bytes that may be parsed in total: the document is parsed again, up to its next fault, for each
/// scalar of this kind. The fast parser reads ordinary documents with any number of them.
const WORK: usize = 1 << 24;

/// Reads a document in which such a scalar is the first fault.
///
/// # Errors
/// As [`parse_fully`](super::parse_fully).
pub(super) fn read(
    text: &Arc<str>,
    segment: Span,
    max_nodes: usize,
    fault: Fault,
) -> Result<Arena, SyntaxError> {
    let base = content_start(text, segment);
    let source = Span::new(base, segment.end).slice(text);
    let mut padding = Padding::default();
    // The first fault has its place in the file, all others in the padded copy.
    let mut error = fault.error;
    let mut after = fault.outdented_after.map(|at| at - base);
    let mut work = 0;
    while work < WORK {
        let Some(scalar) = after.and_then(|at| quoted_scalar(source, padding.original(at))) else {
            break;
        };
        if !padding.indent(source, scalar) {
            break;
        }
        let padded: Arc<str> = padding.applied(source).into();
        match super::read(&padded, Span::new(0, str::len(&padded)), max_nodes) {
            Ok(mut arena) => {
                arena.relocate(text, segment, |at| base + padding.original(at));
                return Ok(arena);
            }
            Err(next) => {
                work += next.error.offset;
                error = SyntaxError {
                    offset: base + padding.original(next.error.offset),
                    message: next.error.message,
                };
                after = next.outdented_after;
            }
        }
    }
    Err(error)
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

    /// Indents the lines of a scalar, but its first, to where its quote is; `false` where there is
    /// nothing to indent, or too much.
    fn indent(&mut self, source: &str, scalar: Span) -> bool {
        let line_start = |at: usize| {
            let before = source.as_bytes().get(..at).unwrap_or_default();
            memchr::memrchr(b'\n', before).map_or(0, |at| at + 1)
        };
        let column = scalar.start - line_start(scalar.start);
        let known = self.lines.last().map_or(0, |(line, _)| line + 1);
        let before = self.added();
        let text = scalar.slice(source).as_bytes();
        for at in memchr::memchr_iter(b'\n', text).map(|at| scalar.start + at + 1) {
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
            padded.extend(std::iter::repeat_n(' ', total - added));
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
