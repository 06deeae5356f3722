//! Writes new values in the layout of their surroundings.

use super::layout::Layout;
use super::quote::{Around, is_printable, string};
use crate::yaml::change::Value;
use crate::yaml::tree::Style;

/// What a value in block layout hangs on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Owner {
    /// The column of the key or the dash.
    pub(super) column: usize,
    /// Columns from the dash to the item; `None` below a key.
    pub(super) dash: Option<usize>,
    /// The column to use for a collection, where one is given.
    pub(super) child: Option<usize>,
}

impl Owner {
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

/// A value as text, in the three shapes that block layout knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Text {
    /// Stands behind the key or dash.
    Inline(String),
    /// A header behind the key or dash, and indented lines below.
    Literal {
        /// `|` with its chomping.
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

/// What stands behind the place where text is put; a literal block must not swallow it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Follow {
    /// A literal must be indented deeper than this comment.
    pub(super) comment: Option<usize>,
    /// The line is ended by a line break.
    pub(super) terminated: bool,
}

/// Writes values in block layout.
#[derive(Clone, Copy)]
pub(super) struct Writer {
    pub(super) layout: Layout,
    /// Columns from a key to the dashes below it.
    pub(super) offset: usize,
    pub(super) eol: &'static str,
    pub(super) follow: Follow,
}

impl Writer {
    /// Writes an entry; all lines but the first carry their indentation.
    pub(super) fn entry(&self, key: &str, value: &Value, column: usize) -> String {
        let key = string(key, Style::Plain, Around::Block);
        self.behind_key(&key, self.value(value, Owner::key(column)))
    }

    /// Puts a value behind a key that is written already.
    pub(super) fn behind_key(&self, key: &str, text: Text) -> String {
        match text {
            Text::Inline(text) => format!("{key}: {text}"),
            Text::Literal { header, body } => format!("{key}: {header}{}{body}", self.eol),
            Text::Lines { column, text } => {
                format!("{key}:{}{}{text}", self.eol, " ".repeat(column))
            }
        }
    }

    /// Writes an item with its dash; all lines but the first carry their indentation.
    pub(super) fn item(&self, value: &Value, column: usize, width: usize) -> String {
        let pad = " ".repeat(width.saturating_sub(1).max(1));
        match self.value(value, Owner::dash(column, width)) {
            Text::Inline(text) | Text::Lines { text, .. } => format!("-{pad}{text}"),
            Text::Literal { header, body } => format!("-{pad}{header}{}{body}", self.eol),
        }
    }

    /// Writes a value for its place below `owner`.
    pub(super) fn value(&self, value: &Value, owner: Owner) -> Text {
        match value {
            Value::Map(entries) if !entries.is_empty() => {
                let column = self.child_column(owner, self.layout.step);
                let lines = entries
                    .iter()
                    .map(|(key, value)| self.entry(key, value, column));
                self.lines(column, lines)
            }
            Value::Seq(items) if !items.is_empty() => {
                let column = self.child_column(owner, self.offset);
                let items = items
                    .iter()
                    .map(|item| self.item(item, column, self.layout.dash));
                self.lines(column, items)
            }
            Value::Block(text) => self.literal(text, owner),
            _ => Text::Inline(scalar(value, Style::Plain, Around::Block).unwrap_or_default()),
        }
    }

    fn child_column(&self, owner: Owner, below_key: usize) -> usize {
        let usual = owner.column + owner.dash.unwrap_or(below_key);
        owner.child.unwrap_or(usual)
    }

    fn lines(&self, column: usize, lines: impl Iterator<Item = String>) -> Text {
        let between = format!("{}{}", self.eol, " ".repeat(column));
        let text = lines.collect::<Vec<_>>().join(&between);
        Text::Lines { column, text }
    }

    /// Writes a string as a literal block where that carries it unchanged.
    pub(super) fn literal(&self, text: &str, owner: Owner) -> Text {
        let indent = owner.column + owner.dash.unwrap_or(self.layout.step);
        let swallows = self.follow.comment.is_some_and(|column| indent <= column);
        match chomping(text, self.follow).filter(|_| !swallows) {
            Some(header) => Text::Literal {
                header: header.to_owned(),
                body: self.indented(text, indent),
            },
            None => Text::Inline(string(text, Style::Plain, Around::Block)),
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

/// Returns the header of the literal block that carries `text`, if one does.
fn chomping(text: &str, follow: Follow) -> Option<&'static str> {
    let shown = text.chars().all(|c| c == '\n' || is_printable(c));
    let leading_blank = |line: &str| line.starts_with([' ', '\t']);
    let first = text.split('\n').find(|line| !line.is_empty())?;
    let blank = |line: &str| !line.is_empty() && line.trim_matches([' ', '\t']).is_empty();
    let tabbed = text
        .split('\n')
        .any(|line| line.starts_with('\t') || blank(line));
    if !text.contains('\n') || !shown || leading_blank(first) || tabbed {
        return None;
    }
    match (text.ends_with("\n\n"), text.ends_with('\n')) {
        // `|+` would take in every empty line that ever comes to stand behind it.
        (true, _) => None,
        (_, true) => follow.terminated.then_some("|"),
        _ => Some("|-"),
    }
}

/// Writes a scalar or an empty collection on one line, strings in `style` where that carries
/// them; `None` for collections with content.
pub(super) fn scalar(value: &Value, style: Style, around: Around) -> Option<String> {
    Some(match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Int(value) => value.to_string(),
        Value::Str(text) | Value::Block(text) => string(text, style, around),
        Value::Map(entries) if entries.is_empty() => "{}".to_owned(),
        Value::Seq(items) if items.is_empty() => "[]".to_owned(),
        Value::Map(_) | Value::Seq(_) => return None,
    })
}
