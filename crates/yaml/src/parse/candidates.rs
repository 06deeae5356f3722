//! Finds where a document probably needs other white space, in one pass and without parsing it.
//!
//! The scanner follows the rules of libyaml for the starts of tokens, and does not report faults. The parser judges its
//! result.

use crate::marker::is_marker;
use crate::span::Span;

/// A part of a document that granit-parser rejects because of its white space.
#[derive(Clone, Copy)]
pub(super) enum Candidate {
    /// A quoted scalar of several lines.
    Quoted(Span),
    /// A comment that touches the token before it.
    Comment(usize),
    /// The header of a block scalar that is not indented deeper than its mapping or sequence.
    Header(usize),
}

impl Candidate {
    pub(super) const fn start(self) -> usize {
        match self {
            Self::Quoted(scalar) => scalar.start,
            Self::Comment(at) | Self::Header(at) => at,
        }
    }

    pub(super) const fn end(self) -> usize {
        match self {
            Self::Quoted(scalar) => scalar.end,
            Self::Comment(at) | Self::Header(at) => at + 1,
        }
    }
}

/// Returns the candidates of a document in the order of the text.
pub(super) fn candidates(source: &str) -> Vec<Candidate> {
    let mut scanner = Scanner {
        source,
        bytes: source.as_bytes(),
        at: 0,
        line: 0,
        flow: 0,
        indents: Vec::new(),
        key: None,
        key_allowed: true,
        found: Vec::new(),
    };
    while scanner.token().is_some() {}
    scanner.found
}

struct Scanner<'a> {
    source: &'a str,
    bytes: &'a [u8],
    at: usize,
    /// Start of the current line.
    line: usize,
    /// Depth of brackets.
    flow: usize,
    /// Columns of the block collections that are open.
    indents: Vec<usize>,
    /// Column of the first token on the line, which may be a key.
    key: Option<usize>,
    key_allowed: bool,
    found: Vec<Candidate>,
}

impl Scanner<'_> {
    fn byte(&self, at: usize) -> Option<u8> {
        self.bytes.get(at).copied()
    }

    const fn column(&self) -> usize {
        self.at - self.line
    }

    fn is_blank(&self, at: usize) -> bool {
        matches!(self.byte(at), None | Some(b' ' | b'\t' | b'\r' | b'\n'))
    }

    /// Skips one token; returns `None` at the end of the document.
    fn token(&mut self) -> Option<()> {
        self.skip_space()?;
        let column = self.column();
        if self.flow == 0 {
            while self.indents.pop_if(|indent| *indent > column).is_some() {}
        }
        let is_separate = self.is_blank(self.at + 1);
        match self.byte(self.at)? {
            b'.' if column == 0 && is_marker(self.rest_of_line(), "...") => return None,
            b'-' if column == 0 && is_marker(self.rest_of_line(), "---") => self.at += 3,
            b'[' | b'{' => {
                self.save_key(column);
                self.flow += 1;
                self.at += 1;
            }
            b']' | b'}' if self.flow > 0 => {
                self.flow -= 1;
                self.at += 1;
            }
            b',' | b':' if self.flow > 0 => self.at += 1,
            b'-' | b'?' if is_separate && self.flow == 0 => {
                self.open(column);
                self.key_allowed = true;
                self.at += 1;
            }
            b':' if is_separate => {
                let key = self.key.take();
                self.open(key.unwrap_or(column));
                self.key_allowed = key.is_none();
                self.at += 1;
            }
            b'&' | b'*' | b'!' => {
                self.save_key(column);
                let is_end = |byte: &u8| byte.is_ascii_whitespace() || is_flow(*byte);
                let rest = self.bytes.get(self.at..)?;
                self.at += rest.iter().position(is_end)?;
            }
            b'|' | b'>' if self.flow == 0 => self.block_scalar(column)?,
            b'\'' | b'"' => self.quoted_scalar(column)?,
            b'%' if column == 0 => self.at = self.line_end(self.at),
            _ => self.plain_scalar(column)?,
        }
        Some(())
    }

    /// Skips white space and comments before a token.
    fn skip_space(&mut self) -> Option<()> {
        loop {
            match self.byte(self.at)? {
                b' ' | b'\t' => self.at += 1,
                b'\r' | b'\n' => {
                    self.break_line();
                    if self.flow == 0 {
                        self.key_allowed = true;
                    }
                }
                b'#' => {
                    let before = self.at.checked_sub(1);
                    if before.is_some_and(|before| !self.is_blank(before)) {
                        self.found.push(Candidate::Comment(self.at));
                    }
                    self.at = self.line_end(self.at);
                }
                _ => return Some(()),
            }
        }
    }

    const fn break_line(&mut self) {
        self.at += 1;
        self.line = self.at;
        if self.flow == 0 {
            self.key = None;
        }
    }

    fn line_end(&self, at: usize) -> usize {
        let rest = self.bytes.get(at..).unwrap_or_default();
        memchr::memchr2(b'\n', b'\r', rest).map_or(self.bytes.len(), |end| at + end)
    }

    fn rest_of_line(&self) -> &str {
        Span::new(self.at, self.line_end(self.at)).slice(self.source)
    }

    fn save_key(&mut self, column: usize) {
        if self.key_allowed && self.flow == 0 {
            self.key = Some(column);
        }
        self.key_allowed = false;
    }

    /// Opens a block collection in this column, unless it is that of the innermost one.
    fn open(&mut self, column: usize) {
        if self.flow == 0 && self.indents.last().is_none_or(|last| *last < column) {
            self.indents.push(column);
        }
    }

    /// The least column of lines that belong to a scalar in the innermost block collection.
    fn inner_column(&self) -> usize {
        self.indents.last().map_or(0, |indent| indent + 1)
    }

    fn quoted_scalar(&mut self, column: usize) -> Option<()> {
        self.save_key(column);
        let scalar = quoted_scalar_at(self.bytes, self.at)?;
        let text = scalar.slice(self.source).as_bytes();
        if let Some(last) = memchr::memrchr2(b'\n', b'\r', text) {
            if self.flow == 0 {
                self.found.push(Candidate::Quoted(scalar));
                self.key = None;
            }
            self.line = scalar.start + last + 1;
        }
        self.at = scalar.end;
        Some(())
    }

    /// Skips the header and the lines of a block scalar.
    fn block_scalar(&mut self, column: usize) -> Option<()> {
        if column < self.inner_column() {
            self.found.push(Candidate::Header(self.at));
        }
        let end = self.line_end(self.at);
        let header = Span::new(self.at, end).slice(self.source).as_bytes();
        let length = header
            .iter()
            .take_while(|byte| matches!(byte, b'|' | b'>' | b'+' | b'-' | b'0'..=b'9'));
        let length = length.count();
        if header.get(length) == Some(&b'#') {
            self.found.push(Candidate::Comment(self.at + length));
        }
        let digit = header
            .iter()
            .take(length)
            .find(|byte| byte.is_ascii_digit());
        let parent = self.indents.last().copied().unwrap_or_default();
        let mut indent = digit.map(|digit| parent + usize::from(digit - b'0'));
        self.at = end;
        while self.byte(self.at).is_some() {
            let start = self.at + 1;
            let rest = self.bytes.get(start..).unwrap_or_default();
            let column = rest.iter().take_while(|byte| **byte == b' ').count();
            let is_empty = matches!(rest.get(column), None | Some(b'\r' | b'\n'));
            if !is_empty && column < *indent.get_or_insert(column.max(self.inner_column())) {
                break;
            }
            self.at = self.line_end(start + column);
        }
        self.key = None;
        Some(())
    }

    /// Skips a plain scalar and the lines that continue it.
    fn plain_scalar(&mut self, column: usize) -> Option<()> {
        self.save_key(column);
        let inner_column = self.inner_column();
        loop {
            self.plain_line();
            let start = self.at;
            let line = self.line;
            let mut next = self.at;
            while matches!(self.byte(next), Some(b' ' | b'\t' | b'\r' | b'\n')) {
                next += 1;
                if matches!(self.byte(next - 1), Some(b'\r' | b'\n')) {
                    self.line = next;
                }
            }
            self.at = next;
            let is_next_line = self.line > line;
            let continues = is_next_line
                && (self.flow > 0 || self.column() >= inner_column)
                && self.starts_plain_line()
                && !(self.column() == 0 && self.starts_marker());
            if !continues {
                (self.at, self.line) = (start, line);
                return Some(());
            }
            if self.flow == 0 {
                self.key = None;
            }
        }
    }

    fn starts_marker(&self) -> bool {
        let line = self.rest_of_line();
        is_marker(line, "---") || is_marker(line, "...")
    }

    fn starts_plain_line(&self) -> bool {
        match self.byte(self.at) {
            None | Some(b'#') => false,
            Some(b':') => !self.is_blank(self.at + 1),
            Some(byte) => self.flow == 0 || !is_flow(byte),
        }
    }

    /// Skips a line of a plain scalar up to the white space behind it, or to the indicator that ends it.
    fn plain_line(&mut self) {
        let mut end = self.at;
        let mut at = self.at;
        while let Some(byte) = self.byte(at) {
            let ends = match byte {
                b'\r' | b'\n' => true,
                b'#' => at > end,
                b':' => {
                    let is_flow_next = self.byte(at + 1).is_some_and(is_flow);
                    self.is_blank(at + 1) || (self.flow > 0 && is_flow_next)
                }
                byte => self.flow > 0 && is_flow(byte),
            };
            if ends {
                break;
            }
            at += 1;
            if !matches!(byte, b' ' | b'\t') {
                end = at;
            }
        }
        // A token has at least one byte.
        self.at = end.max(self.at + usize::from(end == self.at));
    }
}

const fn is_flow(byte: u8) -> bool {
    matches!(byte, b',' | b'[' | b']' | b'{' | b'}')
}

/// Returns the quoted scalar whose opening quote is at `at`.
pub(super) fn quoted_scalar_at(bytes: &[u8], at: usize) -> Option<Span> {
    let end = match bytes.get(at)? {
        b'\'' => single_end(bytes, at + 1),
        b'"' => double_end(bytes, at + 1),
        _ => None,
    };
    end.map(|end| Span::new(at, end))
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
