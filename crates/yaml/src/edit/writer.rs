//! Writes values as YAML, in the style of their siblings.

use std::fmt::Write as _;

use super::layout::Layout;
use crate::change::Value;
use crate::scalar::plain_is_string;
use crate::tree::Style;

/// Key or dash of a value in block layout.
#[derive(Clone, Copy, Debug)]
pub(super) struct ValueAnchor {
    /// The column of the key or the dash.
    pub(super) column: usize,
    /// Columns from the dash to the item; `None` below a key.
    pub(super) dash: Option<usize>,
    /// The column to use for a collection, if it is fixed.
    pub(super) child: Option<usize>,
}

impl ValueAnchor {
    pub(super) const fn key(column: usize) -> Self {
        Self {
            column,
            dash: None,
            child: None,
        }
    }

    pub(super) const fn dash(column: usize, width: usize) -> Self {
        Self {
            column,
            dash: Some(width),
            child: None,
        }
    }
}

/// A value as text, in one of the three forms of block layout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Text {
    /// Text after the key or dash.
    Inline(String),
    /// A header after the key or dash, and indented lines below.
    Literal {
        /// `|` with its chomping indicator.
        header: String,
        /// All lines, each with its indentation.
        body: String,
    },
    /// Lines of their own, at a column; the first has no indentation yet.
    Lines {
        /// The column of the first line.
        column: usize,
        /// All lines.
        text: String,
    },
}

/// Context after inserted text, which must not become part of a literal block.
#[derive(Clone, Copy, Debug)]
pub(super) struct TextAfter {
    /// The column of the next comment. A literal block must be indented deeper.
    pub(super) comment: Option<usize>,
    /// Whether the line ends with a line break.
    pub(super) terminated: bool,
}

/// Writer of values in block layout.
#[derive(Clone, Copy)]
pub(super) struct Writer {
    pub(super) layout: Layout,
    /// Columns from a key to the dashes below it.
    pub(super) offset: usize,
    pub(super) eol: &'static str,
    pub(super) text_after: TextAfter,
}

impl Writer {
    /// Writes an entry; all lines except the first include their indentation.
    pub(super) fn entry(&self, key: &str, value: &Value, column: usize) -> String {
        let key = string(key, Style::Plain, ScalarContext::Block);
        self.after_key(&key, self.value(value, ValueAnchor::key(column)))
    }

    /// Returns the text of a key and its value.
    pub(super) fn after_key(&self, key: &str, text: Text) -> String {
        match text {
            Text::Inline(text) => format!("{key}: {text}"),
            Text::Literal { header, body } => format!("{key}: {header}{}{body}", self.eol),
            Text::Lines { column, text } => {
                format!("{key}:{}{}{text}", self.eol, " ".repeat(column))
            }
        }
    }

    /// Writes an item with its dash; all lines except the first include their indentation.
    pub(super) fn item(&self, value: &Value, column: usize, width: usize) -> String {
        let pad = " ".repeat(width.saturating_sub(1).max(1));
        match self.value(value, ValueAnchor::dash(column, width)) {
            Text::Inline(text) | Text::Lines { text, .. } => format!("-{pad}{text}"),
            Text::Literal { header, body } => format!("-{pad}{header}{}{body}", self.eol),
        }
    }

    /// Writes a value for a position below `value_anchor`.
    pub(super) fn value(&self, value: &Value, value_anchor: ValueAnchor) -> Text {
        match value {
            Value::Map(entries) if !entries.is_empty() => {
                let column = self.child_column(value_anchor, self.layout.step);
                let lines = entries
                    .iter()
                    .map(|(key, value)| self.entry(key, value, column));
                self.lines(column, lines)
            }
            Value::Seq(items) if !items.is_empty() => {
                let column = self.child_column(value_anchor, self.offset);
                let items = items
                    .iter()
                    .map(|item| self.item(item, column, self.layout.dash));
                self.lines(column, items)
            }
            Value::Block(text) => self.literal(text, value_anchor),
            _ => {
                Text::Inline(scalar(value, Style::Plain, ScalarContext::Block).unwrap_or_default())
            }
        }
    }

    fn child_column(&self, value_anchor: ValueAnchor, below_key: usize) -> usize {
        let usual = value_anchor.column + value_anchor.dash.unwrap_or(below_key);
        value_anchor.child.unwrap_or(usual)
    }

    fn lines(&self, column: usize, lines: impl Iterator<Item = String>) -> Text {
        let between = format!("{}{}", self.eol, " ".repeat(column));
        let text = lines.collect::<Vec<_>>().join(&between);
        Text::Lines { column, text }
    }

    /// Writes a string as a literal block if that represents it unchanged.
    pub(super) fn literal(&self, text: &str, value_anchor: ValueAnchor) -> Text {
        let indent = value_anchor.column + value_anchor.dash.unwrap_or(self.layout.step);
        let includes_comment = self
            .text_after
            .comment
            .is_some_and(|column| indent <= column);
        match chomping(text, self.text_after).filter(|_| !includes_comment) {
            Some(header) => Text::Literal {
                header: header.to_owned(),
                body: self.indented(text, indent),
            },
            None => Text::Inline(string(text, Style::Plain, ScalarContext::Block)),
        }
    }

    fn indented(&self, text: &str, indent: usize) -> String {
        let content = text.strip_suffix('\n').unwrap_or(text);
        let lines = content.split('\n').map(|line| {
            if line.is_empty() {
                String::new()
            } else {
                format!("{}{line}", " ".repeat(indent))
            }
        });
        lines.collect::<Vec<_>>().join(self.eol)
    }
}

/// Returns the header of the literal block that represents `text`, if there is one.
fn chomping(text: &str, text_after: TextAfter) -> Option<&'static str> {
    let printable = text.chars().all(|c| c == '\n' || is_printable(c));
    let leading_blank = |line: &str| line.starts_with([' ', '\t']);
    let first = text.split('\n').find(|line| !line.is_empty())?;
    let blank = |line: &str| !line.is_empty() && line.trim_matches([' ', '\t']).is_empty();
    let tabbed = text
        .split('\n')
        .any(|line| line.starts_with('\t') || blank(line));
    if !text.contains('\n') || !printable || leading_blank(first) || tabbed {
        return None;
    }
    match (text.ends_with("\n\n"), text.ends_with('\n')) {
        // `|+` would include empty lines that are added after it later.
        (true, _) => None,
        (_, true) => text_after.terminated.then_some("|"),
        _ => Some("|-"),
    }
}

/// Writes a scalar or an empty collection on one line, strings in `style` if that can represent
/// them; returns `None` for collections with content.
pub(super) fn scalar(value: &Value, style: Style, context: ScalarContext) -> Option<String> {
    Some(match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Int(value) => value.to_string(),
        Value::Str(text) | Value::Block(text) => string(text, style, context),
        Value::Map(entries) if entries.is_empty() => "{}".to_owned(),
        Value::Seq(items) if items.is_empty() => "[]".to_owned(),
        Value::Map(_) | Value::Seq(_) => return None,
    })
}

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
