//! Scalars in one line: where they end, and what they read as.

use crate::yaml::span::Span;
use crate::yaml::tree::{Kind, Style};

use super::{Declined, Read, Reader};

/// Bytes that a key may have; the full parser counts to 1,024 characters.
const KEY: usize = 1000;

/// A scalar that has been found, and what follows it.
pub(super) struct Found {
    pub(super) style: Style,
    pub(super) start: usize,
    pub(super) end: usize,
    /// The end of the `:`, if the scalar is a key.
    pub(super) colon: Option<usize>,
    /// What it reads as is not what is written.
    pub(super) escaped: bool,
    /// A quoted scalar of several lines.
    pub(super) folded: bool,
}

/// Tells whether a byte may have a meaning within a plain scalar.
const fn may_end_plain(byte: u8) -> bool {
    matches!(byte, b':' | b'#' | b'\n' | b'\r' | b'\t')
}

/// Tells whether a plain scalar may begin so, whatever follows.
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

impl Reader<'_> {
    /// Finds the scalar at `at` in block context, which may turn out to be a key.
    pub(super) fn find_scalar(&self, at: usize) -> Read<Found> {
        match self.byte(at) {
            Some(b'\'' | b'"') => self.find_quoted(at, false),
            _ => self.find_plain(at, false),
        }
    }

    pub(super) fn find_plain(&self, start: usize, in_flow: bool) -> Read<Found> {
        if !self.byte(start).is_some_and(begins_plain) {
            return Err(Declined);
        }
        let (stop, colon) = self.plain_stop(start, in_flow)?;
        let end = self.trimmed(start, stop);
        if colon && stop - start > KEY {
            return Err(Declined);
        }
        Ok(Found {
            style: Style::Plain,
            start,
            end,
            colon: colon.then_some(stop + 1),
            escaped: false,
            folded: false,
        })
    }

    /// Returns where a plain scalar stops, blanks behind it counted, and whether a `:` is there.
    pub(super) fn plain_stop(&self, start: usize, in_flow: bool) -> Read<(usize, bool)> {
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
                (Some(b':'), Some(b'\t')) | (Some(b'\t'), _) => return Err(Declined),
                (Some(b':'), Some(next)) if in_flow && is_flow(next) => return Err(Declined),
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

    /// Finds a quoted scalar, and the `:` behind it, which may touch the value in JSON only.
    pub(super) fn find_quoted(&self, start: usize, in_flow: bool) -> Read<Found> {
        let single = self.byte(start) == Some(b'\'');
        let (end, escaped) = if single {
            self.single_end(start + 1)?
        } else {
            self.double_end(start + 1)?
        };
        let written = self.bytes.get(start..end).unwrap_or_default();
        let folded = memchr::memchr(b'\n', written).is_some();
        let behind = self.skip_blanks(end);
        let colon = (self.byte(behind) == Some(b':')).then_some(behind + 1);
        let apart = in_flow || matches!(self.byte(behind + 1), None | Some(b' ' | b'\n' | b'\r'));
        if colon.is_some() && (folded || !apart || behind - start > KEY) {
            return Err(Declined);
        }
        Ok(Found {
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

    /// Returns the offset behind the closing quote, and whether quotes are written in between.
    fn single_end(&self, mut at: usize) -> Read<(usize, bool)> {
        let mut escaped = false;
        loop {
            let rest = self.bytes.get(at..).ok_or(Declined)?;
            let quote = at + memchr::memchr(b'\'', rest).ok_or(Declined)?;
            if self.byte(quote + 1) != Some(b'\'') {
                return Ok((quote + 1, escaped));
            }
            escaped = true;
            at = quote + 2;
        }
    }

    /// Returns the offset behind the closing quote, and whether escapes are written in between.
    fn double_end(&self, mut at: usize) -> Read<(usize, bool)> {
        let mut escaped = false;
        loop {
            let rest = self.bytes.get(at..).ok_or(Declined)?;
            let found = at + memchr::memchr2(b'"', b'\\', rest).ok_or(Declined)?;
            if self.byte(found) == Some(b'"') {
                return Ok((found + 1, escaped));
            }
            escaped = true;
            at = found + 2;
        }
    }

    /// Adds a scalar of one line.
    pub(super) fn push_scalar(&mut self, found: &Found, indicator: Option<usize>) -> Read<u32> {
        if found.folded {
            return Err(Declined);
        }
        let span = Span::new(found.start, found.end);
        let id = self.arena.push(Kind::Scalar, found.style, span, indicator);
        if found.style == Style::Plain {
            if span.len() == 2 {
                self.arena.note_plain(span.slice(self.text));
            }
            return Ok(id);
        }
        let from = self.arena.decoded().len();
        let inner = Span::new(found.start + 1, found.end - 1).slice(self.text);
        if found.escaped {
            unescape(inner, found.style, self.arena.decoded())?;
        } else {
            self.arena.decoded().push_str(inner);
        }
        self.arena.set_decoded(id, from);
        Ok(id)
    }
}

/// Appends what a piece of a quoted scalar reads as.
pub(super) fn unescape(written: &str, style: Style, into: &mut String) -> Read<()> {
    if style == Style::SingleQuoted {
        // Quotes come in pairs: where the scalar ends is known already.
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
        let (before, escape) = rest.split_at_checked(at).ok_or(Declined)?;
        into.push_str(before);
        let mut chars = escape.chars();
        chars.next();
        let letter = chars.next().ok_or(Declined)?;
        rest = chars.as_str();
        let (decoded, behind) = escaped(letter, rest)?;
        into.push(decoded);
        rest = behind;
    }
    into.push_str(rest);
    Ok(())
}

/// What an escape reads as, and what follows it. YAML 1.2.2, 5.7; surrogates are declined.
fn escaped(letter: char, behind: &str) -> Read<(char, &str)> {
    let digits = match letter {
        'x' => 2,
        'u' => 4,
        'U' => 8,
        _ => return Ok((escaped_letter(letter)?, behind)),
    };
    let (code, behind) = behind.split_at_checked(digits).ok_or(Declined)?;
    if !code.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(Declined);
    }
    let code = u32::from_str_radix(code, 16).map_err(|_| Declined)?;
    Ok((char::from_u32(code).ok_or(Declined)?, behind))
}

const fn escaped_letter(letter: char) -> Read<char> {
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
        _ => return Err(Declined),
    })
}
