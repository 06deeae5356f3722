//! Quoted scalars whose next lines are not indented deeper than their mapping or sequence, and tabs at the start of
//! lines within quotes and brackets.
//!
//! granit-parser rejects both, and YAML 1.2 forbids the former; libyaml and go-yaml, and so kubectl and kustomize, read
//! them. White space at the start of these lines is not part of a value, so the parser reads a copy of the document with
//! other white space, and the positions that it reports are mapped back.

use std::sync::Arc;

use crate::yaml::arena::Arena;
use crate::yaml::span::Span;
use crate::yaml::tree::Style;

use super::{Fault, Repair, SyntaxError, content_start};

/// Bytes that may be parsed in total: the document is parsed again, up to its next fault, for each
/// scalar of this kind. The fast parser reads ordinary documents with any number of them.
const WORK: usize = 1 << 24;
/// Runs of lines with a tab at their start that are read. Each costs a copy of the document.
const RUNS: usize = 32;

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
    let mut source = Span::new(base, segment.end).slice(text).to_owned();
    let mut padding = Padding::default();
    let mut tabs = Vec::new();
    // The first fault has its place in the file, all others in the padded copy.
    let mut error = fault.error;
    let mut repair = fault.repair.map(|repair| repair.moved(|at| at - base));
    let (mut work, mut runs) = (0, 0);
    while work < WORK {
        let is_repaired = match &repair {
            Some(Repair::Indent { after }) => quoted_scalar(&source, padding.original(*after))
                .is_some_and(|scalar| padding.indent(&source, scalar)),
            Some(Repair::Tabs { at }) => {
                runs += 1;
                runs <= RUNS && replace_tabs(&mut source, padding.original(*at), &mut tabs)
            }
            None => false,
        };
        if !is_repaired {
            break;
        }
        let padded: Arc<str> = padding.applied(&source).into();
        match super::read(&padded, Span::new(0, str::len(&padded)), max_nodes) {
            Ok(mut arena) => {
                arena.relocate(text, segment, |at| base + padding.original(at));
                let tabs = tabs.iter().map(|at| base + at);
                return are_within(&arena, tabs).then_some(arena).ok_or(error);
            }
            Err(next) => {
                work += next.error.offset;
                // Outside of quotes and brackets the first tab is the fault, whatever follows it.
                if tabs.is_empty() {
                    error = SyntaxError {
                        offset: base + padding.original(next.error.offset),
                        message: next.error.message,
                    };
                }
                repair = next.repair;
            }
        }
    }
    Err(error)
}

/// Replaces the tabs at the start of the line that contains `at`, and of the lines that follow and start with a tab, by
/// blanks. Notes these lines, and returns whether there are any.
fn replace_tabs(source: &mut String, at: usize, lines: &mut Vec<usize>) -> bool {
    let bytes = source.as_bytes();
    let before = bytes.get(..at).unwrap_or_default();
    let first = memchr::memrchr(b'\n', before).map_or(0, |end| end + 1);
    let known = lines.len();
    let mut replaced = source.get(..first).unwrap_or_default().to_owned();
    for line in source
        .get(first..)
        .unwrap_or_default()
        .split_inclusive('\n')
    {
        let text = line.trim_start_matches([' ', '\t']);
        let white = line.len() - text.len();
        if !line
            .as_bytes()
            .iter()
            .take(white)
            .any(|byte| *byte == b'\t')
        {
            break;
        }
        lines.push(replaced.len());
        replaced.extend(std::iter::repeat_n(' ', white));
        replaced.push_str(text);
    }
    replaced.push_str(source.get(replaced.len()..).unwrap_or_default());
    *source = replaced;
    lines.len() > known
}

/// Returns whether all `lines` start within quotes or brackets. Elsewhere kubectl and kustomize refuse the tab.
fn are_within(arena: &Arena, lines: impl Iterator<Item = usize>) -> bool {
    let mut lines: Vec<usize> = lines.collect();
    lines.sort_unstable();
    let mut spans = arena.nodes().filter_map(|(style, span)| {
        let styles = [Style::Flow, Style::SingleQuoted, Style::DoubleQuoted];
        styles.contains(&style).then_some(span)
    });
    // Nodes are in the order of their starts, so the outermost of several is the first.
    let mut current = Span::empty(0);
    lines.into_iter().all(|line| {
        while current.end <= line {
            match spans.next() {
                Some(span) => current = span,
                None => return false,
            }
        }
        current.start < line
    })
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
            memchr::memrchr2(b'\n', b'\r', before).map_or(0, |at| at + 1)
        };
        let column = scalar.start - line_start(scalar.start);
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
