//! Scalars: the type of a plain one, the header of a block scalar, and Base64.

use crate::span::Span;

/// The typed value of a scalar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Scalar<'t> {
    /// `~`, `null`, or an empty text.
    Null,
    /// A boolean, in any of the YAML 1.1 spellings.
    Bool(bool),
    /// An integer that fits into 64 bits with sign.
    Int(i64),
    /// A larger integer that fits into 64 bits without sign.
    UInt(u64),
    /// A floating-point number.
    Float(f64),
    /// Anything else.
    Str(&'t str),
}

impl Scalar<'_> {
    /// Returns the name of the type for an error message.
    #[must_use]
    pub const fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Int(_) | Self::UInt(_) => "an integer",
            Self::Float(_) => "a number",
            Self::Str(_) => "a string",
        }
    }
}

/// Returns the typed value of a plain scalar without a tag.
#[must_use]
pub fn resolve_plain(text: &str) -> Scalar<'_> {
    let Some(first) = text.bytes().next() else {
        return Scalar::Null;
    };
    match first {
        b'y' | b'Y' | b'n' | b'N' | b't' | b'T' | b'f' | b'F' | b'o' | b'O' | b'~' => word(text),
        b'.' => special_float(text)
            .or_else(|| styled_float(text))
            .map_or(Scalar::Str(text), Scalar::Float),
        b'+' | b'-' | b'0'..=b'9' => special_float(text)
            .map(Scalar::Float)
            .or_else(|| number(text))
            .unwrap_or(Scalar::Str(text)),
        _ => Scalar::Str(text),
    }
}

/// Returns whether `text` is read as a string if it is written plain.
#[must_use]
pub fn plain_is_string(text: &str) -> bool {
    matches!(resolve_plain(text), Scalar::Str(_))
}

fn word(text: &str) -> Scalar<'_> {
    match text {
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            Scalar::Bool(true)
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            Scalar::Bool(false)
        }
        "~" | "null" | "Null" | "NULL" => Scalar::Null,
        _ => Scalar::Str(text),
    }
}

fn special_float(text: &str) -> Option<f64> {
    match text {
        ".nan" | ".NaN" | ".NAN" => Some(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => Some(f64::INFINITY),
        "-.inf" | "-.Inf" | "-.INF" => Some(f64::NEG_INFINITY),
        _ => None,
    }
}

fn number(text: &str) -> Option<Scalar<'_>> {
    let joined: String;
    let digits = if text.contains('_') {
        joined = text.replace('_', "");
        joined.as_str()
    } else {
        text
    };
    integer(digits).or_else(|| styled_float(digits).map(Scalar::Float))
}

/// Parses an integer like Go's `strconv.ParseInt(s, 0, 64)` and `ParseUint`: the prefix selects the base.
fn integer(digits: &str) -> Option<Scalar<'static>> {
    let (negative, signed, rest) = match digits.as_bytes().first()? {
        b'-' => (true, true, digits.get(1..)?),
        b'+' => (false, true, digits.get(1..)?),
        _ => (false, false, digits),
    };
    let (radix, body) = radix_of(rest);
    if body.is_empty() || !body.chars().all(|c| c.is_digit(radix)) {
        return None;
    }
    let magnitude = u64::from_str_radix(body, radix).ok()?;
    match (negative, i64::try_from(magnitude)) {
        (false, Ok(value)) => Some(Scalar::Int(value)),
        // `ParseUint` does not accept a sign.
        (false, Err(_)) => (!signed).then_some(Scalar::UInt(magnitude)),
        (true, Ok(value)) => Some(Scalar::Int(-value)),
        (true, Err(_)) => (magnitude == 1 << 63).then_some(Scalar::Int(i64::MIN)),
    }
}

fn radix_of(rest: &str) -> (u32, &str) {
    let prefixes = [
        ("0x", 16),
        ("0X", 16),
        ("0o", 8),
        ("0O", 8),
        ("0b", 2),
        ("0B", 2),
    ];
    for (prefix, radix) in prefixes {
        if let Some(body) = rest.strip_prefix(prefix) {
            return (radix, body);
        }
    }
    match rest.strip_prefix('0') {
        Some(body) if !body.is_empty() => (8, body),
        _ => (10, rest),
    }
}

/// Parses a float like go-yaml's `yamlStyleFloat`: `[-+]? (\.d+ | d+(\.d*)?) ([eE][-+]?d+)?`.
fn styled_float(text: &str) -> Option<f64> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    let mantissa_fits = match mantissa.split_once('.') {
        Some(("", fraction)) => digits(fraction),
        Some((whole, fraction)) => digits(whole) && (fraction.is_empty() || digits(fraction)),
        None => digits(mantissa),
    };
    let exponent_fits = exponent.is_none_or(|e| digits(e.strip_prefix(['-', '+']).unwrap_or(e)));
    if mantissa_fits && exponent_fits {
        // Go reads a number that does not fit into a float as a string.
        text.parse().ok().filter(|value: &f64| value.is_finite())
    } else {
        None
    }
}

/// Returns the span of a block scalar whose header is at `start` and whose value is `value`. `limit` is an offset after
/// the scalar, at the latest in the indentation of the next token.
pub(super) fn block_span(text: &str, value: &str, start: usize, limit: usize) -> Span {
    // A carriage return alone also ends the header.
    let header_end = line_end(text, start).min(limit.max(start));
    let header_line = Span::new(start, header_end).slice(text);
    let header = header_line.split('#').next().unwrap_or_default();
    let last_line = value
        .trim_end_matches('\n')
        .rsplit('\n')
        .next()
        .unwrap_or_default();
    let blank_is_content = !last_line.is_empty() && last_line.trim().is_empty();
    let end = before_next_indentation(text, limit);
    let below = Span::new(header_end, end).slice(text);
    let kept = if header.contains('+') || blank_is_content {
        below.strip_suffix('\n').unwrap_or(below)
    } else {
        // Blanks at the end of the last line are part of the value.
        let trimmed = below.trim_end_matches([' ', '\t', '\r', '\n']).len();
        let line_end = line_end(text, header_end + trimmed).min(end);
        Span::new(header_end, line_end).slice(text)
    };
    let kept = kept.strip_suffix('\r').unwrap_or(kept);
    if kept.trim_matches(['\r', '\n']).is_empty() && !kept.contains('\n') {
        return Span::new(start, start + header.trim_end().len());
    }
    Span::new(start, header_end + kept.len())
}

/// Returns `end` without the indentation of the next token, which the span of a block scalar may include.
fn before_next_indentation(text: &str, end: usize) -> usize {
    let before = text.as_bytes().get(..end).unwrap_or_default();
    let line = memchr::memrchr(b'\n', before).map_or(0, |at| at + 1);
    let line = before.get(line..).unwrap_or_default();
    let next = text.as_bytes().get(end);
    let inside = !matches!(next, None | Some(b'\r' | b'\n'));
    if inside && line.iter().all(|byte| *byte == b' ') {
        end - line.len()
    } else {
        end
    }
}

/// Returns the value of a block scalar without the final line break that granit-parser adds if the file ends without
/// one. go-yaml and libyaml do not add it.
pub(super) fn without_invented_break<'v>(text: &str, value: &'v str, place: Span) -> &'v str {
    let mut lines = place.slice(text).split('\n');
    let header = lines.next().unwrap_or_default();
    let header = header.split('#').next().unwrap_or_default();
    let at_end = place.end >= text.len() && !text.ends_with('\n');
    if !at_end || header.contains('-') {
        return value;
    }
    let last = lines.clone().next_back().unwrap_or_default();
    if is_blank(last) && last.len() <= indentation(lines, value) {
        // This line is not part of the scalar, whose last line has a line break.
        return value;
    }
    value.strip_suffix('\n').unwrap_or(value)
}

fn is_blank(line: &str) -> bool {
    line.bytes().all(|byte| byte == b' ')
}

/// Returns the indentation of the `lines` of a block scalar with the value `value`.
fn indentation<'t>(lines: impl Iterator<Item = &'t str>, value: &str) -> usize {
    let spaces = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let mut pairs = lines.zip(value.split('\n'));
    let first = pairs.find(|(_, content)| !content.is_empty());
    // The indentation of a scalar that has only blank lines is that of the deepest line.
    first.map_or(usize::MAX, |(line, content)| {
        spaces(line).saturating_sub(spaces(content))
    })
}

/// Returns the offset of the next line break at or after `at`, or the end of the text.
pub(super) fn line_end(text: &str, at: usize) -> usize {
    let rest = text.as_bytes().get(at..).unwrap_or_default();
    memchr::memchr(b'\n', rest).map_or(text.len(), |found| at + found)
}

/// The digits of base64, by their values.
pub(super) const DIGITS: &[u8; 64] =
    b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Decodes base64. Line breaks and padding are ignored. Returns `None` if the text contains any other character.
#[must_use]
pub fn decode_base64(text: &str) -> Option<Vec<u8>> {
    decode(text.bytes())
}

/// Decodes the digits among some bytes.
pub(super) fn decode(text: impl Iterator<Item = u8>) -> Option<Vec<u8>> {
    let mut decoded = Vec::new();
    let (mut bits, mut count) = (0_u32, 0);
    for digit in text.filter(|byte| !matches!(byte, b'\r' | b'\n' | b'=')) {
        let value = DIGITS.iter().position(|known| *known == digit)?;
        bits = (bits << 6) | u32::try_from(value).unwrap_or_default();
        count += 6;
        if count >= 8 {
            count -= 8;
            decoded.extend((bits >> count).to_be_bytes().last());
        }
    }
    Some(decoded)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn booleans_follow_yaml_1_1() {
        for text in ["yes", "on", "y", "True"] {
            assert_eq!(resolve_plain(text), Scalar::Bool(true), "{text}");
        }
        for text in ["NO", "off", "n", "FALSE"] {
            assert_eq!(resolve_plain(text), Scalar::Bool(false), "{text}");
        }
        for text in ["yES", "fAlse", "oN", "nope"] {
            assert_eq!(resolve_plain(text), Scalar::Str(text), "{text}");
        }
    }

    #[test]
    fn numbers_follow_go() {
        let cases = [
            ("0777", Scalar::Int(511)),
            ("0o17620", Scalar::Int(8080)),
            ("017620", Scalar::Int(8080)),
            ("0x1F90", Scalar::Int(8080)),
            ("0b11", Scalar::Int(3)),
            ("1_000", Scalar::Int(1000)),
            ("-5", Scalar::Int(-5)),
            ("+5", Scalar::Int(5)),
            ("08", Scalar::Float(8.0)),
            ("8080.0", Scalar::Float(8080.0)),
            ("1e3", Scalar::Float(1000.0)),
            (".5", Scalar::Float(0.5)),
            ("18446744073709551615", Scalar::UInt(u64::MAX)),
            ("-9223372036854775808", Scalar::Int(i64::MIN)),
            ("2024-01-02", Scalar::Str("2024-01-02")),
            ("1.2.3", Scalar::Str("1.2.3")),
            ("-1e400", Scalar::Str("-1e400")),
            ("-", Scalar::Str("-")),
            ("0", Scalar::Int(0)),
            ("", Scalar::Null),
            ("~", Scalar::Null),
        ];
        for (text, expected) in cases {
            assert_eq!(resolve_plain(text), expected, "{text}");
        }
    }

    #[test]
    fn texts_are_decoded() {
        assert_eq!(decode_base64("cG9ydDog\nODA4MA==").unwrap(), b"port: 8080");
        assert_eq!(decode_base64("").unwrap(), b"");
        assert_eq!(decode_base64("a b"), None);
    }
}
