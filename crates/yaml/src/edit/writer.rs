//! Writes new values in the layout of the surrounding text.

use crate::change::Value;
use crate::edit::layout::Layout;
use crate::edit::quote::{ScalarContext, is_printable, string};
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
