//! Notation of strings that all parsers read as the same string.

use std::fmt::Write as _;

use crate::scalar::plain_is_string;
use crate::tree::Style;

/// Context of a scalar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ScalarContext {
    /// Block collections.
    Block,
    /// Brackets.
    Flow,
    /// Brackets with double-quoted keys: the text must stay JSON.
    Json,
}

/// Writes a string on one line, in `style` if that can represent it.
pub(super) fn string(text: &str, style: Style, context: ScalarContext) -> String {
    match (context, style) {
        (ScalarContext::Json, _) => double_quoted(text, true),
        (_, Style::SingleQuoted) if text.chars().all(is_printable) => {
            format!("'{}'", text.replace('\'', "''"))
        }
        (_, Style::SingleQuoted | Style::DoubleQuoted) => double_quoted(text, false),
        _ if plain_is_safe(text, context) => text.to_owned(),
        // JSON inside YAML stays readable in single quotes, without escapes.
        _ if text.contains(['"', '\\']) && text.chars().all(is_printable) => {
            string(text, Style::SingleQuoted, context)
        }
        _ => double_quoted(text, false),
    }
}

/// Returns whether a character can be written in YAML text without an escape. Line breaks of any kind cannot.
pub(super) fn is_printable(c: char) -> bool {
    matches!(c, '\t' | ' '..='~' | '\u{a0}'..='\u{d7ff}' | '\u{e000}'..='\u{fffd}' | '\u{10000}'..)
        && !matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}')
        && !is_invisible(c)
}

/// Returns whether a character is invisible: it changes the direction of text, or has no width. Such characters are
/// valid, but not intended.
const fn is_invisible(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}')
}

fn double_quoted(text: &str, json: bool) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            _ if is_printable(c) => out.push(c),
            // Writing to a string cannot fail.
            _ if json || u32::from(c) > 0xff => drop(write!(out, "\\u{:04x}", u32::from(c))),
            _ => drop(write!(out, "\\x{:02x}", u32::from(c))),
        }
    }
    out.push('"');
    out
}

/// Returns whether `text` can be written plain: the syntax of YAML allows it, and all dialects in use
/// read it as this string.
fn plain_is_safe(text: &str, context: ScalarContext) -> bool {
    let reserved_start = [
        ',', '[', ']', '{', '}', '#', '&', '*', '!', '|', '>', '\'', '"', '%', '@', '`', '=',
    ];
    let broken = text.is_empty()
        || text.starts_with(reserved_start)
        || text.starts_with(char::is_whitespace)
        || text.ends_with(char::is_whitespace)
        || text.starts_with("---")
        || text.starts_with("...")
        || text.contains(": ")
        || text.contains(":\t")
        || text.ends_with(':')
        || text.contains(" #")
        || text.contains("\t#")
        || !text.chars().all(is_printable);
    !broken
        && first_is_safe(text)
        && (context == ScalarContext::Block || flow_is_safe(text))
        && plain_is_string(text)
        && text != "<<"
        && !is_other_dialect(text)
}

/// Returns whether the start of `text` is valid for a plain scalar: a `-`, `?` or `:` must be followed by a character
/// that is not a blank.
fn first_is_safe(text: &str) -> bool {
    let mut chars = text.chars();
    match (chars.next(), chars.next()) {
        (Some('-' | '?' | ':'), None) => false,
        (Some('-' | '?' | ':'), Some(second)) => {
            second.is_alphanumeric() || "-/.$".contains(second)
        }
        _ => true,
    }
}

fn flow_is_safe(text: &str) -> bool {
    let colon_is_open = text
        .split(':')
        .skip(1)
        .any(|after| !after.starts_with(|c: char| c.is_alphanumeric() || c == '/'));
    !text.contains([',', '[', ']', '{', '}', '?']) && !colon_is_open
}

/// Returns whether only some parsers read a plain text as a string: YAML 1.2 octals, sexagesimals and dates.
fn is_other_dialect(text: &str) -> bool {
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let date = {
        let mut parts = text.splitn(3, '-');
        parts
            .next()
            .is_some_and(|year| year.len() == 4 && digits(year))
            && parts.next().is_some_and(digits)
            && parts.next().is_some()
    };
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let clock = unsigned.contains(':') && unsigned.split([':', '.']).all(digits);
    let prefixed = ["0o", "0x", "0b"]
        .iter()
        .any(|prefix| unsigned.to_ascii_lowercase().starts_with(prefix));
    let number = unsigned.replace('_', "").parse::<f64>().is_ok();
    date || clock || prefixed || number
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str, context: ScalarContext) -> String {
        string(text, Style::Plain, context)
    }

    #[test]
    fn strings_are_plain_only_if_all_parsers_agree() {
        for text in [
            "a", "/x", "http", "1.2.3", "-c", "--flag", ":8080", "a:b", "x#y", "istio/a", "ü",
        ] {
            assert_eq!(plain(text, ScalarContext::Block), text);
        }
        for text in [
            "",
            "yes",
            "8080",
            "0x1",
            "0o7",
            "1e3",
            "~",
            "null",
            "-",
            "- a",
            "? b",
            "a: b",
            "a #b",
            "a:",
            "#a",
            "*a",
            "&a",
            "!a",
            "@a",
            "%a",
            "`a",
            "[a",
            "{a",
            " a",
            "a ",
            "---",
            "2024-01-02",
            "12:30",
            "<<",
            "=",
            ".inf",
            "inf",
            "1_000",
        ] {
            assert_eq!(plain(text, ScalarContext::Block), format!("{text:?}"));
        }
    }

    #[test]
    fn brackets_and_json_need_more_quotes() {
        assert_eq!(plain("http://a/b", ScalarContext::Flow), "http://a/b");
        for text in ["a,b", "a?b", "::1", "a{b", "a]"] {
            assert_eq!(
                plain(text, ScalarContext::Block) == text,
                text != "::1",
                "{text}"
            );
            assert_eq!(plain(text, ScalarContext::Flow), format!("{text:?}"));
        }
        assert_eq!(plain("a", ScalarContext::Json), "\"a\"");
    }

    #[test]
    fn characters_that_are_not_printable_are_escaped() {
        let text = "a\u{7f}\u{85}\u{2028}\u{feff}\u{0}\n\"\\\t";
        let escaped = r#""a\x7f\x85\u2028\ufeff\x00\n\"\\\t""#;
        assert_eq!(
            string(text, Style::SingleQuoted, ScalarContext::Block),
            escaped
        );
        let escaped = r#""a\u007f\u0085\u2028\ufeff\u0000\n\"\\\t""#;
        assert_eq!(string(text, Style::Plain, ScalarContext::Json), escaped);
        assert_eq!(
            string("it's", Style::SingleQuoted, ScalarContext::Block),
            "'it''s'"
        );
        assert_eq!(
            string("8080", Style::SingleQuoted, ScalarContext::Flow),
            "'8080'"
        );
        assert_eq!(
            plain(r#"{"a":"it's"}"#, ScalarContext::Block),
            r#"'{"a":"it''s"}'"#
        );
        assert_eq!(plain(r#"{"a":1}"#, ScalarContext::Json), r#""{\"a\":1}""#);
        assert_eq!(plain("\"\u{7f}", ScalarContext::Block), r#""\"\x7f""#);
    }
}
