//! Scalars in block style and in the lines of a block.

use super::lines::{FastParser, ParseResult, Unsupported};
use crate::scalar::{block_span, without_invented_break};
use crate::span::Span;
use crate::tree::{Kind, Style};

/// Limit on the bytes of a key. The limit of the full parser is 1,024 characters.
const MAX_KEY: usize = 1000;

/// A scalar that has been found, and the `:` after it.
pub(super) struct ScalarToken {
    pub(super) style: Style,
    pub(super) start: usize,
    pub(super) end: usize,
    /// The end of the `:`, if the scalar is a key.
    pub(super) colon: Option<usize>,
    /// Whether its value differs from its source.
    pub(super) escaped: bool,
    /// Whether it is a quoted scalar of several lines.
    pub(super) folded: bool,
}

/// Returns whether a byte may end a plain scalar.
const fn may_end_plain(byte: u8) -> bool {
    matches!(byte, b':' | b'#' | b'\n' | b'\r' | b'\t')
}

/// Returns whether a plain scalar may begin with a byte, for any byte that follows.
const fn begins_plain(byte: u8) -> bool {
    !matches!(
        byte,
        b'?' | b':'
            | b','
            | b'['
            | b']'
            | b'{'
            | b'}'
            | b'#'
            | b'&'
            | b'*'
            | b'!'
            | b'|'
            | b'>'
            | b'\''
            | b'"'
            | b'%'
            | b'@'
            | b'`'
            | b'\t'
            | b'\n'
            | b'\r'
            | b' '
    )
}

pub(super) const fn is_flow(byte: u8) -> bool {
    matches!(byte, b',' | b'[' | b']' | b'{' | b'}')
}

impl FastParser<'_> {
    /// Finds the scalar at `at` in block context, which may be a key.
    pub(super) fn find_scalar(&self, at: usize) -> ParseResult<ScalarToken> {
        match self.byte(at) {
            Some(b'\'' | b'"') => self.find_quoted(at, false),
            _ => self.find_plain(at, false),
        }
    }

    pub(super) fn find_plain(&self, start: usize, in_flow: bool) -> ParseResult<ScalarToken> {
        if !self.byte(start).is_some_and(begins_plain) {
            return Err(Unsupported);
        }
        let (stop, colon) = self.plain_stop(start, in_flow)?;
        let end = self.trimmed(start, stop);
        if colon && stop - start > MAX_KEY {
            return Err(Unsupported);
        }
        Ok(ScalarToken {
            style: Style::Plain,
            start,
            end,
            colon: colon.then_some(stop + 1),
            escaped: false,
            folded: false,
        })
    }

    /// Returns the offset where a plain scalar stops, including the blanks after it, and whether a `:` is there.
    pub(super) fn plain_stop(&self, start: usize, in_flow: bool) -> ParseResult<(usize, bool)> {
        let mut at = start;
        loop {
            let rest = self.bytes.get(at..).unwrap_or_default();
            let ends = |byte: &u8| may_end_plain(*byte) || (in_flow && is_flow(*byte));
            let Some(found) = rest.iter().position(ends) else {
                return Ok((self.bytes.len(), false));
            };
            at += found;
            match (self.byte(at), self.byte(at + 1)) {
                (Some(b':'), None | Some(b' ' | b'\n' | b'\r')) => return Ok((at, true)),
                (Some(b':'), Some(b'\t')) | (Some(b'\t'), _) => return Err(Unsupported),
                (Some(b':'), Some(next)) if in_flow && is_flow(next) => return Err(Unsupported),
                (Some(b':'), _) => {}
                (Some(b'#'), _) => {
                    if at.checked_sub(1).and_then(|before| self.byte(before)) == Some(b' ') {
                        return Ok((at, false));
                    }
                }
                _ => return Ok((at, false)),
            }
            at += 1;
        }
    }

    /// Returns `end` without the blanks before it.
    pub(super) fn trimmed(&self, start: usize, end: usize) -> usize {
        let text = self.bytes.get(start..end).unwrap_or_default();
        let blanks = text.iter().rev().take_while(|byte| **byte == b' ').count();
        end - blanks
    }

    /// Finds a quoted scalar, and the `:` after it, which may touch the value only in JSON.
    pub(super) fn find_quoted(&self, start: usize, in_flow: bool) -> ParseResult<ScalarToken> {
        let single = self.byte(start) == Some(b'\'');
        let (end, escaped) = if single {
            self.single_end(start + 1)?
        } else {
            self.double_end(start + 1)?
        };
        let written = self.bytes.get(start..end).unwrap_or_default();
        let folded = memchr::memchr(b'\n', written).is_some();
        let next = self.skip_blanks(end);
        let colon = (self.byte(next) == Some(b':')).then_some(next + 1);
        let apart = in_flow || matches!(self.byte(next + 1), None | Some(b' ' | b'\n' | b'\r'));
        if colon.is_some() && (folded || !apart || next - start > MAX_KEY) {
            return Err(Unsupported);
        }
        Ok(ScalarToken {
            style: if single {
                Style::SingleQuoted
            } else {
                Style::DoubleQuoted
            },
            start,
            end,
            colon,
            escaped,
            folded,
        })
    }

    /// Returns the offset after the closing quote, and whether the scalar contains escaped quotes.
    fn single_end(&self, mut at: usize) -> ParseResult<(usize, bool)> {
        let mut escaped = false;
        loop {
            let rest = self.bytes.get(at..).ok_or(Unsupported)?;
            let quote = at + memchr::memchr(b'\'', rest).ok_or(Unsupported)?;
            if self.byte(quote + 1) != Some(b'\'') {
                return Ok((quote + 1, escaped));
            }
            escaped = true;
            at = quote + 2;
        }
    }

    /// Returns the offset after the closing quote, and whether the scalar contains escapes.
    fn double_end(&self, mut at: usize) -> ParseResult<(usize, bool)> {
        let mut escaped = false;
        loop {
            let rest = self.bytes.get(at..).ok_or(Unsupported)?;
            let found = at + memchr::memchr2(b'"', b'\\', rest).ok_or(Unsupported)?;
            if self.byte(found) == Some(b'"') {
                return Ok((found + 1, escaped));
            }
            escaped = true;
            at = found + 2;
        }
    }

    /// Adds a scalar on one line.
    pub(super) fn push_scalar(
        &mut self,
        token: &ScalarToken,
        indicator: Option<usize>,
    ) -> ParseResult<u32> {
        if token.folded {
            return Err(Unsupported);
        }
        let span = Span::new(token.start, token.end);
        let id = self.arena.push(Kind::Scalar, token.style, span, indicator);
        if token.style == Style::Plain {
            if span.len() == 2 {
                self.arena.record_plain(span.slice(self.text));
            }
            return Ok(id);
        }
        let from = self.arena.decoded().len();
        let inner = Span::new(token.start + 1, token.end - 1).slice(self.text);
        if token.escaped {
            unescape(inner, token.style, self.arena.decoded())?;
        } else {
            self.arena.decoded().push_str(inner);
        }
        self.arena.set_decoded(id, from);
        Ok(id)
    }
}

/// Appends the decoded value of a piece of a quoted scalar to `into`.
pub(super) fn unescape(written: &str, style: Style, into: &mut String) -> ParseResult<()> {
    if style == Style::SingleQuoted {
        // All quotes are in pairs, because the end of the scalar is known.
        let mut pieces = written.split("''");
        into.push_str(pieces.next().unwrap_or_default());
        for piece in pieces {
            into.push('\'');
            into.push_str(piece);
        }
        return Ok(());
    }
    let mut rest = written;
    while let Some(at) = memchr::memchr(b'\\', rest.as_bytes()) {
        let (before, escape) = rest.split_at_checked(at).ok_or(Unsupported)?;
        into.push_str(before);
        let mut chars = escape.chars();
        chars.next();
        let letter = chars.next().ok_or(Unsupported)?;
        rest = chars.as_str();
        let (decoded, after) = escaped(letter, rest)?;
        into.push(decoded);
        rest = after;
    }
    into.push_str(rest);
    Ok(())
}

/// Returns the character of an escape, and the text after the escape (YAML 1.2.2, 5.7); declines surrogates.
fn escaped(letter: char, rest: &str) -> ParseResult<(char, &str)> {
    let digits = match letter {
        'x' => 2,
        'u' => 4,
        'U' => 8,
        _ => return Ok((escaped_letter(letter)?, rest)),
    };
    let (code, rest) = rest.split_at_checked(digits).ok_or(Unsupported)?;
    if !code.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(Unsupported);
    }
    let code = u32::from_str_radix(code, 16).map_err(|_| Unsupported)?;
    Ok((char::from_u32(code).ok_or(Unsupported)?, rest))
}

const fn escaped_letter(letter: char) -> ParseResult<char> {
    Ok(match letter {
        '0' => '\0',
        'a' => '\u{7}',
        'b' => '\u{8}',
        't' => '\t',
        'n' => '\n',
        'v' => '\u{b}',
        'f' => '\u{c}',
        'r' => '\r',
        'e' => '\u{1b}',
        ' ' | '"' | '/' | '\\' => letter,
        'N' => '\u{85}',
        '_' => '\u{a0}',
        'L' => '\u{2028}',
        'P' => '\u{2029}',
        _ => return Err(Unsupported),
    })
}

/// Treatment of the line breaks at the end of a block scalar.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Chomping {
    Clip,
    Strip,
    Keep,
}

/// State of a block scalar that is being read.
#[derive(Default)]
struct Body {
    /// Number of empty lines after the last line.
    empty: usize,
    /// Whether a line and its line break have been read.
    broken: bool,
    /// Whether the last line starts with a blank.
    indented: bool,
}

impl FastParser<'_> {
    /// Reads a block scalar, starting at its header.
    pub(super) fn block_scalar(&mut self, at: usize, indicator: Option<usize>) -> ParseResult<()> {
        let column = self.blocks.last().ok_or(Unsupported)?.column;
        let style = match self.byte(at) {
            Some(b'|') => Style::Literal,
            _ => Style::Folded,
        };
        let (chomping, end) = match self.byte(at + 1) {
            Some(b'-') => (Chomping::Strip, at + 2),
            Some(b'+') => (Chomping::Keep, at + 2),
            _ => (Chomping::Clip, at + 1),
        };
        self.end_line(end)?;
        let mut body = Body::default();
        let indent = self.body_indent(&mut body)?;
        if indent <= column {
            return Err(Unsupported);
        }
        let from = self.arena.decoded().len();
        while self.body_line(indent, style, &mut body)? {}
        self.chomp(chomping, &body);
        self.push_block(at, style, from, indicator);
        Ok(())
    }

    /// Skips the empty lines below the header, and returns the column of the first other line.
    fn body_indent(&mut self, body: &mut Body) -> ParseResult<usize> {
        let mut longest = 0;
        loop {
            let at = self.skip_blanks(self.at);
            let column = at - self.at;
            match self.byte(at) {
                Some(b'\n') => self.at = at + 1,
                Some(b'\r') => self.at = at + 2,
                None | Some(b'\t') => return Err(Unsupported),
                Some(_) if column < longest => return Err(Unsupported),
                Some(_) => return Ok(column),
            }
            body.empty += 1;
            longest = longest.max(column);
        }
    }

    /// Reads a line; returns `false` if it does not belong to the scalar.
    fn body_line(&mut self, indent: usize, style: Style, body: &mut Body) -> ParseResult<bool> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let blanks = rest
            .iter()
            .take(indent)
            .take_while(|byte| **byte == b' ')
            .count();
        let start = self.at + blanks;
        match self.byte(start) {
            Some(b'\n') => self.at = start + 1,
            Some(b'\r') => self.at = start + 2,
            Some(_) if blanks == indent => {
                self.body_text(start, style, body);
                return Ok(true);
            }
            None => {
                self.at = start;
                return Ok(false);
            }
            Some(b'\t') => return Err(Unsupported),
            Some(_) => return Ok(false),
        }
        body.empty += 1;
        Ok(true)
    }

    fn body_text(&mut self, start: usize, style: Style, body: &mut Body) {
        let end = self.break_at(start);
        let line = Span::new(start, end).slice(self.text);
        let indented = line.starts_with([' ', '\t']);
        let into = self.arena.decoded();
        let folds = style == Style::Folded && body.broken && !body.indented && !indented;
        if folds && body.empty == 0 {
            into.push(' ');
        } else if body.broken && !folds {
            into.push('\n');
        }
        into.extend(std::iter::repeat_n('\n', body.empty));
        into.push_str(line);
        self.at = self.next_line(end);
        *body = Body {
            empty: 0,
            broken: end < self.bytes.len(),
            indented,
        };
    }

    fn chomp(&mut self, chomping: Chomping, body: &Body) {
        let into = self.arena.decoded();
        if chomping != Chomping::Strip {
            into.push('\n');
        }
        if chomping == Chomping::Keep {
            into.extend(std::iter::repeat_n('\n', body.empty));
        }
    }

    fn push_block(&mut self, at: usize, style: Style, from: usize, indicator: Option<usize>) {
        let value = self.arena.decoded().get(from..).unwrap_or_default();
        let span = block_span(self.text, value, at, self.at);
        let kept = without_invented_break(self.text, value, span).len();
        self.arena.decoded().truncate(from + kept);
        let id = self.arena.push(Kind::Scalar, style, span, indicator);
        self.arena.set_decoded(id, from);
    }
}
