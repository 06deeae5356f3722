//! Writes values as block YAML, and builds the tree of that text at the same time, without parsing it.

use std::sync::Arc;

use super::arena::Arena;
use super::span::Span;
use super::tree::{Kind, Style, Tree};

/// Limit on the nesting of collections, as in the full parser.
const MAX_DEPTH: usize = 255;
/// Limit on the characters of a key, including its quotes.
const MAX_KEY: usize = 1024;

/// Writer of a document. Values are added in the order of the text; in a mapping, each value follows its
/// key.
///
/// Strings are written in double quotes and collections in block layout, one column deeper each.
/// The tree is the one that [`parse`](super::parse) returns for the text.
pub struct Composer {
    text: String,
    arena: Arena,
    /// The kinds of the open collections, and whether they have a member.
    open: Vec<(Kind, bool)>,
    /// The end of the `:`, or the `-`, before the next value.
    indicator: Option<usize>,
    /// Whether the document exceeds a limit of the parser.
    refused: bool,
}

impl Composer {
    /// Returns an empty document with a capacity of `bytes` bytes.
    #[must_use]
    pub fn new(bytes: usize) -> Self {
        let text = String::with_capacity(bytes);
        Self {
            arena: Arena::new(&Arc::from(""), Span::default()),
            text,
            open: Vec::new(),
            indicator: None,
            refused: false,
        }
    }

    /// Returns the tree, which contains the text; `None` if values are nested deeper than 255, a key has more than
    /// 1,024 characters, or the text is longer than 4 GiB.
    #[must_use]
    pub fn finish(mut self) -> Option<Tree> {
        self.text.push('\n');
        let is_long = u32::try_from(self.text.len()).is_err() || self.arena.overflows();
        if self.refused || is_long {
            return None;
        }
        let text: Arc<str> = self.text.into();
        self.arena.finish_as(&text)
    }

    /// Writes a key.
    pub fn key(&mut self, key: &str) {
        self.start_member();
        let start = self.text.len();
        self.push_quoted(key);
        let written = self.text.get(start..).unwrap_or_default();
        self.refused |= written.len() > MAX_KEY && written.chars().count() > MAX_KEY;
        self.text.push(':');
        self.indicator = Some(self.text.len());
    }

    /// Begins an item of a list. The next call writes its value.
    pub fn item(&mut self) {
        self.start_member();
        self.indicator = Some(self.text.len());
        self.text.push('-');
    }

    /// Writes a string.
    pub fn string(&mut self, value: &str) {
        self.push_space();
        self.push_quoted(value);
    }

    /// Writes a number, a boolean or null without quotes.
    pub fn plain(&mut self, value: &str) {
        self.push_space();
        let start = self.text.len();
        self.text.push_str(value);
        let span = Span::new(start, self.text.len());
        let indicator = self.indicator.take();
        self.arena.push(Kind::Scalar, Style::Plain, span, indicator);
        self.arena.record_plain(value);
    }

    /// Writes an empty mapping or list.
    pub fn empty(&mut self, kind: Kind) {
        self.refused |= self.open.len() >= MAX_DEPTH;
        self.push_space();
        let start = self.text.len();
        let brackets = if kind == Kind::Mapping { "{}" } else { "[]" };
        self.text.push_str(brackets);
        let span = Span::new(start, self.text.len());
        let indicator = self.indicator.take();
        let id = self.arena.push(kind, Style::Flow, span, indicator);
        self.arena.open(id, kind);
        self.arena.close(Some(span.end));
    }

    /// Begins a mapping or a list that is not empty. The next call writes its first member.
    pub fn begin(&mut self, kind: Kind) {
        self.refused |= self.open.len() >= MAX_DEPTH;
        self.open.push((kind, false));
    }

    /// Ends the mapping or list that was begun last.
    pub fn end(&mut self) {
        if self.open.pop().is_some() {
            self.arena.close(None);
        }
    }

    /// Starts the line of the next member. The first member sets the start of its collection.
    fn start_member(&mut self) {
        let depth = self.open.len();
        let Some((kind, is_begun)) = self.open.last_mut() else {
            return;
        };
        let (kind, is_begun) = (*kind, std::mem::replace(is_begun, true));
        if !self.text.is_empty() {
            self.text.push('\n');
            self.text.extend(std::iter::repeat_n(' ', depth - 1));
        }
        if !is_begun {
            let place = Span::empty(self.text.len());
            let indicator = self.indicator.take();
            let id = self.arena.push(kind, Style::Block, place, indicator);
            self.arena.open(id, kind);
        }
    }

    fn push_space(&mut self) {
        if !self.text.is_empty() {
            self.text.push(' ');
        }
    }

    fn push_quoted(&mut self, value: &str) {
        let start = self.text.len();
        self.text.push('"');
        escape(value, &mut self.text);
        self.text.push('"');
        let span = Span::new(start, self.text.len());
        let indicator = self.indicator.take();
        let id = self
            .arena
            .push(Kind::Scalar, Style::DoubleQuoted, span, indicator);
        let from = self.arena.decoded().len();
        self.arena.decoded().push_str(value);
        self.arena.set_decoded(id, from);
    }
}

/// Appends the text between the double quotes to `out`.
fn escape(value: &str, out: &mut String) {
    // Nearly all strings need no escapes.
    let is_ordinary = |byte: u8| matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\';
    if value.bytes().all(is_ordinary) {
        out.push_str(value);
        return;
    }
    let mut rest = value;
    while let Some(at) = rest.find(is_escaped) {
        let (plain, escaped) = rest.split_at_checked(at).unwrap_or((rest, ""));
        out.push_str(plain);
        let mut chars = escaped.chars();
        match chars.next() {
            Some(c @ ('"' | '\\')) => out.extend(['\\', c]),
            Some('\n') => out.push_str("\\n"),
            Some(c) => out.push_str(&format!("\\U{:08X}", u32::from(c))),
            None => {}
        }
        rest = chars.as_str();
    }
    out.push_str(rest);
}

/// Returns whether a character must be escaped, at least for some parsers.
fn is_escaped(c: char) -> bool {
    match c {
        '"' | '\\' | '\u{2028}' | '\u{2029}' => true,
        _ => !matches!(c, ' '..='~' | '\u{a1}'..='\u{d7ff}'),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::parse_fully;
    use super::*;

    #[derive(Clone, Debug)]
    enum Value {
        String(String),
        Plain(&'static str),
        Map(Vec<(String, Value)>),
        Seq(Vec<Value>),
    }

    fn write(value: &Value, out: &mut Composer) {
        match value {
            Value::String(text) => out.string(text),
            Value::Plain(text) => out.plain(text),
            Value::Map(fields) if fields.is_empty() => out.empty(Kind::Mapping),
            Value::Seq(items) if items.is_empty() => out.empty(Kind::Sequence),
            Value::Map(fields) => {
                out.begin(Kind::Mapping);
                for (key, value) in fields {
                    out.key(key);
                    write(value, out);
                }
                out.end();
            }
            Value::Seq(items) => {
                out.begin(Kind::Sequence);
                for item in items {
                    out.item();
                    write(item, out);
                }
                out.end();
            }
        }
    }

    fn text() -> impl Strategy<Value = String> {
        prop_oneof![
            "[a-z]{0,5}",
            "<<",
            "[ -~\n\t\u{80}-\u{2030}\u{feff}😀]{0,6}"
        ]
    }

    fn value() -> impl Strategy<Value = Value> {
        let plain = prop::sample::select(vec!["null", "true", "0x1F", "-1.5e3"]);
        let leaf = prop_oneof![text().prop_map(Value::String), plain.prop_map(Value::Plain)];
        leaf.prop_recursive(5, 40, 5, |inner| {
            let fields = prop::collection::vec((text(), inner.clone()), 0..5);
            let items = prop::collection::vec(inner, 0..5);
            prop_oneof![fields.prop_map(Value::Map), items.prop_map(Value::Seq)]
        })
    }

    proptest! {
        #[test]
        fn the_tree_equals_the_parsed_text(value in value()) {
            let mut out = Composer::new(0);
            write(&value, &mut out);
            let tree = out.finish().unwrap();
            let text = tree.text();
            let read = parse_fully(text, tree.segment()).unwrap().unwrap();
            prop_assert_eq!(tree.segment(), Span::new(0, text.len()));
            prop_assert_eq!(&tree, &read, "{}", text);
        }
    }

    #[test]
    fn documents_beyond_the_limits_of_parsers_are_not_written() {
        let nested = |depth: usize| {
            let mut out = Composer::new(0);
            for _ in 0..depth {
                out.begin(Kind::Sequence);
                out.item();
            }
            out.string("x");
            for _ in 0..depth {
                out.end();
            }
            out.finish().is_some()
        };
        assert!(nested(255) && !nested(256));
        let with_key = |length: usize| {
            let mut out = Composer::new(0);
            out.begin(Kind::Mapping);
            out.key(&"é".repeat(length));
            out.plain("1");
            out.end();
            let written = out.finish();
            written.map(|tree| parse_fully(tree.text(), tree.segment()).is_ok())
        };
        assert_eq!((with_key(1000), with_key(1100)), (Some(true), None));
    }
}
