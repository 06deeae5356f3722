//! White space that granit-parser rejects: quoted scalars whose next lines are not indented deeper than their mapping or
//! sequence, headers of block scalars on a line that is not, comments that touch the token before them, and tabs at the
//! start of lines within quotes and brackets.
//!
//! YAML 1.2 forbids all but the tabs; libyaml and go-yaml, and so kubectl and kustomize, read all of them. White space at
//! these places is not part of a value, so the parser reads a copy of the document with other white space, and the
//! positions that it reports are mapped back.
//!
//! The parser stops at the first fault, and one parse for each would be quadratic. Therefore the first repair also
//! changes the white space of all later candidates. The parsed tree shows which candidates were none; they are restored,
//! and the document is parsed again.

use std::iter;
use std::sync::Arc;

use crate::arena::Arena;
use crate::marker::content_start;
use crate::span::Span;
use crate::syntax_error::SyntaxError;

use super::candidates::{Candidate, candidates, quoted_scalar_at};
use super::events;
use super::fault::{Fault, Repair};
use super::padding::{Insertion, Padding};
use super::regions::{Region, Regions};

/// Bytes that may be parsed in total, in addition to [`PARSES`] times the document.
const WORK: usize = 1 << 24;

/// The number of times that a document of any size may be parsed.
const PARSES: usize = 8;

/// Reads a document with a fault that other white space may resolve.
///
/// # Errors
/// As [`parse_fully`](super::parse_fully).
pub(super) fn read(
    text: &Arc<str>,
    segment: Span,
    max_nodes: usize,
    mut fault: Box<Fault>,
) -> Result<Arena, SyntaxError> {
    let mut copy = Copy::new(text, segment);
    let limit = WORK.saturating_add(segment.len().saturating_mul(PARSES));
    let mut error = fault.error.clone();
    let mut has_tab_outside = false;
    while copy.work < limit && copy.repair(&fault) {
        // A tab outside of quotes is the fault, whatever follows it.
        has_tab_outside |= matches!(fault.repair, Some(Repair::Tabs { in_quotes: false }));
        match copy.parse_verified(max_nodes) {
            Ok(arena) if copy.first_misplaced(&arena, 0, usize::MAX).is_none() => {
                return copy.restore_tabs(arena, max_nodes, error);
            }
            Ok(_) => break,
            Err(next) => {
                let read_end = next.cursor - copy.base;
                if copy.first_misplaced(&next.arena, 0, read_end).is_some() {
                    break;
                }
                if !has_tab_outside || next.error.is_over_limit() {
                    error = next.error.clone();
                }
                fault = next;
            }
        }
    }
    Err(copy.error_at_tab(error, max_nodes))
}

/// Returns whether a fault is certainly one of white space.
const fn is_repairable(fault: &Fault) -> bool {
    !matches!(fault.repair, None | Some(Repair::Header))
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
    /// Insertions at this place or behind it are for candidates, and not required by the parser so far.
    required_end: usize,
    /// Candidates that start before this place are padded only if the parser requires it.
    speculate_from: usize,
    /// The candidates of the source, once they are known.
    candidates: Option<Vec<Candidate>>,
    /// Bytes that were parsed.
    work: usize,
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
            required_end: 0,
            speculate_from: 0,
            candidates: None,
            work: 0,
        }
    }

    /// Changes the white space as a fault requires; `false` where that has been done or is not possible.
    fn repair(&mut self, fault: &Fault) -> bool {
        match fault.repair {
            None => false,
            Some(Repair::Indent) => quoted_scalar(&self.source, fault.cursor - self.base)
                .is_some_and(|scalar| self.pad(Candidate::Quoted(scalar))),
            Some(Repair::Header) => {
                let at = fault.error.offset - self.base;
                let is_header = matches!(self.source.as_bytes().get(at), Some(b'|' | b'>'));
                is_header && self.pad(Candidate::Header(at))
            }
            Some(Repair::Comment) => self.pad(Candidate::Comment(fault.error.offset - self.base)),
            Some(Repair::Tabs { .. }) if self.tabs.is_empty() => {
                self.replace_tabs(leading_tabs(&self.source));
                // Padded again, now with these lines.
                self.padding = Padding::default();
                self.required_end = 0;
                self.candidates = None;
                !self.tabs.is_empty()
            }
            Some(Repair::Tabs { .. }) => false,
        }
    }

    /// Pads what the parser requires, and all candidates behind it; `false` if that has been padded.
    fn pad(&mut self, required: Candidate) -> bool {
        let (start, end) = (required.start(), required.end());
        let inserted = self.padding.from(start).iter();
        let known: Vec<Insertion> = inserted
            .copied()
            .take_while(|insertion| insertion.at < end)
            .collect();
        self.padding.truncate(start);
        if !self.padding.add(&self.source, required) || self.padding.from(start) == known {
            return false;
        }
        self.required_end = end;
        let from = end.max(self.speculate_from);
        let source = &self.source;
        let all = self.candidates.get_or_insert_with(|| candidates(source));
        let first = all.partition_point(|candidate| candidate.start() < from);
        for candidate in all.iter().skip(first) {
            self.padding.add(source, *candidate);
        }
        true
    }

    /// Parses the copy. If a candidate was none, or may have caused an error, parses it again without this candidate and
    /// those behind it.
    fn parse_verified(&mut self, max_nodes: usize) -> Result<Arena, Box<Fault>> {
        let result = self.parse(max_nodes);
        let (arena, read_end) = match &result {
            Ok(arena) => (arena, usize::MAX),
            Err(fault) => (&fault.arena, fault.cursor - self.base),
        };
        if let Some(wrong) = self.first_misplaced(arena, self.required_end, read_end) {
            let all = self.candidates.as_deref().unwrap_or_default();
            let next = all.partition_point(|candidate| candidate.start() <= wrong);
            let candidate = next.checked_sub(1).and_then(|index| all.get(index));
            self.speculate_from = candidate.map_or(wrong + 1, |candidate| candidate.end());
            self.padding.truncate(wrong);
            return self.parse(max_nodes);
        }
        match result {
            Err(fault) if !is_repairable(&fault) && !fault.error.is_over_limit() => {
                let error_at = fault.error.offset - self.base;
                let unread = read_end.max(self.required_end);
                let suspect = self.padding.from(unread).first();
                if suspect.is_none_or(|insertion| insertion.at > error_at) {
                    return Err(fault);
                }
                self.speculate_from = error_at + 1;
                self.padding.truncate(unread);
                self.parse(max_nodes)
            }
            other => other,
        }
    }

    fn replace_tabs(&mut self, tabs: Vec<Span>) {
        let original = Span::new(self.base, self.segment.end).slice(self.text);
        self.source = with_blanks(original, &tabs);
        self.tabs = tabs;
    }

    /// Parses the copy. All offsets that are returned are those of the file.
    fn parse(&mut self, max_nodes: usize) -> Result<Arena, Box<Fault>> {
        let padded: Arc<str> = self.padding.applied(&self.source).into();
        let place = |at| self.base + self.padding.original(at);
        match events::read(&padded, Span::new(0, str::len(&padded)), max_nodes) {
            Ok(mut arena) => {
                arena.relocate(self.text, self.segment, place);
                self.work += padded.len();
                Ok(arena)
            }
            Err(mut fault) => {
                fault.arena.relocate(self.text, self.segment, place);
                fault.cursor = place(fault.cursor);
                self.work += fault.error.offset;
                fault.error.offset = place(fault.error.offset);
                Err(fault)
            }
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
        let within = self.within_quotes_and_brackets(&arena);
        if within.len() == self.tabs.len() {
            return Ok(arena);
        }
        self.replace_tabs(within);
        let arena = self.parse(max_nodes).map_err(|fault| fault.error)?;
        let is_unchanged = self.within_quotes_and_brackets(&arena).len() == self.tabs.len()
            && self.first_misplaced(&arena, 0, self.source.len()).is_none();
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

    /// Returns the tabs that are not part of a value.
    fn within_quotes_and_brackets(&self, arena: &Arena) -> Vec<Span> {
        let mut regions = Regions::new(arena);
        let tabs = self.tabs.iter().copied();
        tabs.filter(|tab| regions.at(self.base + tab.start).ignores_indentation())
            .collect()
    }

    /// Returns the place of the first insertion from `start` to `end` that changes a value.
    fn first_misplaced(&self, arena: &Arena, start: usize, end: usize) -> Option<usize> {
        let mut regions = Regions::new(arena);
        let bytes = self.source.as_bytes();
        let is_kept = |at: usize, region: &Region| {
            let before = at.checked_sub(1).and_then(|before| bytes.get(before));
            match (before, bytes.get(at)) {
                (Some(b'\n' | b'\r'), Some(b'|' | b'>')) => !region.is_other_scalar(),
                (Some(b'\n' | b'\r'), _) => region.ignores_indentation(),
                (_, Some(b'#')) => region.accepts_comment(self.text, self.base + at),
                _ => region.is_between_tokens(),
            }
        };
        let inserted = self
            .padding
            .from(start)
            .iter()
            .map(|insertion| insertion.at);
        inserted
            .take_while(|at| *at < end)
            .find(|at| !is_kept(*at, &regions.at(self.base + at)))
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
            _ => return quoted_scalar_at(bytes, at),
        }
    }
}
