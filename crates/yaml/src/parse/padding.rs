//! Blanks that are inserted into a copy of a document.

use super::candidates::Candidate;
use crate::span::Span;

/// Blanks that may be inserted in addition to the length of the document, which limits the memory for the copy.
const SLACK: usize = 1 << 20;

/// Blanks that are inserted into a text.
#[derive(Default)]
pub(super) struct Padding {
    /// In the order of their places.
    insertions: Vec<Insertion>,
}

/// Blanks inserted at one place.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Insertion {
    pub(super) at: usize,
    /// The number of blanks inserted so far, these included.
    total: usize,
}

impl Padding {
    /// Returns the insertions at these places or behind them, in order.
    pub(super) fn from(&self, at: usize) -> &[Insertion] {
        let first = self
            .insertions
            .partition_point(|insertion| insertion.at < at);
        self.insertions.get(first..).unwrap_or_default()
    }

    /// Removes the insertions at `at` or behind it.
    pub(super) fn truncate(&mut self, at: usize) {
        let first = self
            .insertions
            .partition_point(|insertion| insertion.at < at);
        self.insertions.truncate(first);
    }

    /// Inserts the blanks that a candidate needs, behind all others; returns `false` if it needs none, or too many.
    pub(super) fn add(&mut self, source: &str, candidate: Candidate) -> bool {
        let before = self.insertions.len();
        match candidate {
            Candidate::Comment(at) | Candidate::Header(at) => self.insert(at, 1),
            Candidate::Quoted(scalar) => self.indent(source, scalar),
        }
        let fits = self.added() <= source.len().saturating_add(SLACK);
        if !fits {
            self.insertions.truncate(before);
        }
        self.insertions.len() > before
    }

    fn added(&self) -> usize {
        self.insertions
            .last()
            .map_or(0, |insertion| insertion.total)
    }

    fn insert(&mut self, at: usize, blanks: usize) {
        let total = self.added() + blanks;
        self.insertions.push(Insertion { at, total });
    }

    /// Indents the lines of a scalar, but its first, to where its quote is, or deeper than the key in front of it.
    fn indent(&mut self, source: &str, scalar: Span) {
        let line_start = |at: usize| {
            let before = source.as_bytes().get(..at).unwrap_or_default();
            memchr::memrchr2(b'\n', b'\r', before).map_or(0, |at| at + 1)
        };
        let first = Span::new(line_start(scalar.start), scalar.start).slice(source);
        let key = first.trim_start_matches([' ', '-', '?', ':']);
        let column = first.len().min(first.len() - key.len() + 1);
        let text = scalar.slice(source).as_bytes();
        for at in memchr::memchr2_iter(b'\n', b'\r', text).map(|at| scalar.start + at + 1) {
            let rest = source.as_bytes().get(at..).unwrap_or_default();
            let blanks = rest.iter().take_while(|byte| **byte == b' ').count();
            // Where a tab belongs to the indentation is for the parser to judge.
            let is_text = !matches!(rest.get(blanks), Some(b'\t' | b'\r' | b'\n'));
            if blanks < column && is_text {
                self.insert(at, column - blanks);
            }
        }
    }

    /// Returns the text with the blanks.
    pub(super) fn applied(&self, source: &str) -> String {
        let mut padded = String::with_capacity(source.len() + self.added());
        let (mut done, mut added) = (0, 0);
        for insertion in &self.insertions {
            padded.push_str(Span::new(done, insertion.at).slice(source));
            padded.extend(std::iter::repeat_n(' ', insertion.total - added));
            (done, added) = (insertion.at, insertion.total);
        }
        padded.push_str(source.get(done..).unwrap_or_default());
        padded
    }

    /// Returns the place in the source of a place in the padded copy.
    pub(super) fn original(&self, at: usize) -> usize {
        let is_behind = |insertion: &Insertion| insertion.at + insertion.total <= at;
        let index = self.insertions.partition_point(is_behind);
        let insertion = |index: usize| self.insertions.get(index);
        let added = index.checked_sub(1).and_then(insertion);
        let plain = at - added.map_or(0, |insertion| insertion.total);
        // Within the blanks of an insertion: its place.
        insertion(index).map_or(plain, |next| plain.min(next.at))
    }
}
