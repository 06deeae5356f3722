//! The layout of a document: indentation and lines.

use std::collections::BTreeMap;

use crate::span::Span;
use crate::tree::{Kind, NodeRef, Style, Tree};

/// Layout for text that has no sibling to take its layout from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// Columns from a key to the keys below it.
    pub(super) step: usize,
    /// Columns from a key to the dashes below it.
    pub(super) offset: usize,
    /// Columns from a dash to its item.
    pub(super) dash: usize,
}

impl Layout {
    /// Returns the most frequent layout of `tree`. The default is two columns, with sequences that are not indented.
    pub(super) fn of(tree: &Tree, lines: Lines<'_>) -> Self {
        let mut steps = BTreeMap::new();
        let mut offsets = BTreeMap::new();
        let mut dashes = BTreeMap::new();
        for node in tree.all() {
            let Some(parent) = node.parent().filter(|p| p.style() == Style::Block) else {
                continue;
            };
            match (parent.kind(), node.kind(), node.style()) {
                (Kind::Mapping, Kind::Mapping, Style::Block) => {
                    let step = column(lines, node).saturating_sub(column(lines, parent));
                    count(&mut steps, step);
                }
                (Kind::Mapping, Kind::Sequence, Style::Block) => {
                    let offset = column(lines, node).saturating_sub(column(lines, parent));
                    count(&mut offsets, offset);
                }
                (Kind::Sequence, ..) => {
                    if let Some(width) = dash_width(lines, node) {
                        count(&mut dashes, width);
                    }
                }
                _ => {}
            }
        }
        steps.remove(&0);
        Self {
            step: most(&steps).unwrap_or(2),
            offset: most(&offsets).unwrap_or(0),
            dash: most(&dashes).unwrap_or(2),
        }
    }
}

/// Returns the column of the keys of a block mapping, or of the dashes of a block sequence.
pub(super) fn column(lines: Lines<'_>, collection: NodeRef<'_>) -> usize {
    let start = collection.span().start;
    let first = collection
        .entries()
        .next()
        .map_or(start, |entry| entry.key.outer_span().start.min(start));
    lines.column(first)
}

/// Returns the columns from the dash of an item to its text, if both are on the same line.
pub(super) fn dash_width(lines: Lines<'_>, item: NodeRef<'_>) -> Option<usize> {
    let dash = item.indicator()?;
    let start = item.outer_span().start;
    let inline = item.style() != Style::Empty && lines.start(start) <= dash;
    inline.then(|| lines.slice(dash, start).chars().count())
}

fn count(counts: &mut BTreeMap<usize, usize>, key: usize) {
    *counts.entry(key).or_insert(0) += 1;
}

/// Returns the number that occurs most often, and the smallest of several.
fn most(counts: &BTreeMap<usize, usize>) -> Option<usize> {
    let best = counts
        .iter()
        .max_by_key(|&(&key, &count)| (count, std::cmp::Reverse(key)));
    best.map(|(&key, _)| key)
}

/// Access to the lines of one document of a file.
#[derive(Clone, Copy)]
pub(super) struct Lines<'t> {
    text: &'t str,
    segment: Span,
}

impl<'t> Lines<'t> {
    pub(super) fn new(text: &'t str, segment: Span) -> Self {
        let mut segment = Span::new(segment.start, segment.end.min(text.len()));
        if segment.slice(text).starts_with('\u{feff}') {
            segment.start += '\u{feff}'.len_utf8();
        }
        Self { text, segment }
    }

    pub(super) fn slice(self, start: usize, end: usize) -> &'t str {
        Span::new(start, end).slice(self.text)
    }

    pub(super) fn byte(self, at: usize) -> Option<u8> {
        self.text.as_bytes().get(at).copied()
    }

    /// Returns the start of the line that contains `at`.
    pub(super) fn start(self, at: usize) -> usize {
        let before = self.slice(self.segment.start, at).as_bytes();
        memchr::memrchr(b'\n', before)
            .map_or(self.segment.start, |found| self.segment.start + found + 1)
    }

    /// Returns the end of the line that contains `at`, before its line break.
    pub(super) fn end(self, at: usize) -> usize {
        let rest = self.slice(at, self.segment.end);
        let line = rest.split('\n').next().unwrap_or_default();
        at + line.strip_suffix('\r').unwrap_or(line).len()
    }

    /// Returns the start of the line after the one that contains `at`.
    pub(super) fn next(self, at: usize) -> usize {
        let rest = self.slice(at, self.segment.end).as_bytes();
        memchr::memchr(b'\n', rest).map_or(self.segment.end, |found| at + found + 1)
    }

    /// Returns the end of the line before the one that starts at `start`, if there is one.
    pub(super) fn before(self, start: usize) -> Option<usize> {
        let text = self.slice(self.segment.start, start);
        let line = text.strip_suffix('\n')?;
        let line = line.strip_suffix('\r').unwrap_or(line);
        Some(self.segment.start + line.len())
    }

    /// Returns whether the line that contains `at` ends with a line break.
    pub(super) fn is_terminated(self, at: usize) -> bool {
        self.next(at) > self.end(at)
    }

    /// Returns the line break to use: that of the line that contains `at`, or else of the line before.
    pub(super) fn eol(self, at: usize) -> &'static str {
        let end = self.end(at);
        let line_break = match self.slice(end, self.next(at)) {
            "" => self.slice(self.start(at).saturating_sub(2), self.start(at)),
            line_break => line_break,
        };
        if line_break.ends_with("\r\n") {
            "\r\n"
        } else {
            "\n"
        }
    }

    /// Returns the column of `at` in characters, from 0.
    pub(super) fn column(self, at: usize) -> usize {
        self.slice(self.start(at), at).chars().count()
    }

    /// Returns whether there are only blanks before `at` on its line.
    pub(super) fn is_line_start(self, at: usize) -> bool {
        self.slice(self.start(at), at)
            .bytes()
            .all(|byte| matches!(byte, b' ' | b'\t'))
    }

    /// Returns the blanks at the start of the line that contains `at`.
    pub(super) fn indentation(self, at: usize) -> &'t str {
        let start = self.start(at);
        let line = self.slice(start, self.end(at));
        let blanks = line.len() - line.trim_start_matches([' ', '\t']).len();
        self.slice(start, start + blanks)
    }

    /// Returns the text after `at` on its line.
    pub(super) fn rest(self, at: usize) -> &'t str {
        self.slice(at, self.end(at))
    }

    /// Returns whether there are only blanks after `at` on its line.
    pub(super) fn rest_is_blank(self, at: usize) -> bool {
        self.rest(at).trim_matches([' ', '\t']).is_empty()
    }

    /// Returns the first offset at or after `at` that is not in blanks, line breaks or comments.
    pub(super) fn skip_trivia(self, mut at: usize) -> usize {
        while let Some(byte) = self.byte(at) {
            match byte {
                b' ' | b'\t' | b'\r' | b'\n' => at += 1,
                b'#' => at = self.end(at),
                _ => break,
            }
        }
        at
    }
}
