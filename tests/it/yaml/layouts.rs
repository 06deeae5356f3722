//! Random documents in layouts that people write.
#![allow(dead_code, reason = "each test uses its part")]

use proptest::prelude::*;

/// A node with its style.
#[derive(Clone, Debug)]
pub(crate) enum Node {
    /// Not written at all.
    Empty,
    Plain(&'static str),
    Single(&'static str),
    Double(&'static str),
    /// A block scalar: header, and lines without indentation.
    Block(&'static str, &'static [&'static str]),
    Map(bool, Vec<(&'static str, Node)>),
    Seq(bool, Vec<Node>),
    /// A node with an anchor.
    Anchored(Box<Node>),
    /// An alias of one of the anchors so far.
    Alias(usize),
    /// A mapping with a merge key that names one of the anchored mappings so far.
    Merged(usize, Vec<(&'static str, Node)>),
}

/// The layout of a whole document.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    pub(crate) step: usize,
    pub(crate) offset: usize,
    pub(crate) dash: usize,
    pub(crate) eol: &'static str,
    pub(crate) start: &'static str,
    pub(crate) final_break: bool,
    /// Random numbers that decide where comments and empty lines are written.
    pub(crate) noise: Vec<u8>,
}

const KEYS: [&str; 9] = [
    "a",
    "b",
    "spec",
    "metadata",
    "labels",
    "annotations",
    "\"q d\"",
    "'s'",
    "x.io/y",
];
const PLAIN: [&str; 16] = [
    "text",
    "8080",
    "true",
    "yes",
    "null",
    "~",
    "0777",
    "1.5",
    "http://a/b",
    "-c",
    "a b",
    "x:y",
    "ü",
    "0x1f",
    "::1",
    "2024-01-02",
];
const QUOTED: [&str; 8] = ["", "8080", "it", "a # b", "x: y", "yes", " lead", "é"];
const BLOCKS: [(&str, &[&str]); 10] = [
    ("|", &["one", "two"]),
    ("|-", &["one"]),
    ("|+", &["one", ""]),
    ("|+", &["one"]),
    (">", &["one", "two", "", "three"]),
    (">-", &["one"]),
    (">+", &["", "one", "", ""]),
    ("|2", &["  lead", "two"]),
    ("|", &["# no comment", "", "- x"]),
    ("|-", &["key: value", "  deeper"]),
];

fn leaf() -> impl Strategy<Value = Node> {
    prop_oneof![
        1 => Just(Node::Empty),
        6 => prop::sample::select(&PLAIN[..]).prop_map(Node::Plain),
        2 => prop::sample::select(&QUOTED[..]).prop_map(Node::Single),
        2 => prop::sample::select(&QUOTED[..]).prop_map(Node::Double),
        3 => prop::sample::select(&BLOCKS[..]).prop_map(|(header, lines)| Node::Block(header, lines)),
        2 => (0usize..4).prop_map(Node::Alias),
        1 => Just(Node::Map(true, Vec::new())),
        1 => Just(Node::Seq(true, Vec::new())),
    ]
}

fn entries(node: impl Strategy<Value = Node>) -> impl Strategy<Value = Vec<(&'static str, Node)>> {
    prop::collection::vec((prop::sample::select(&KEYS[..]), node), 1..5).prop_map(|mut entries| {
        let mut seen = std::collections::HashSet::new();
        entries.retain(|(key, _)| seen.insert(*key));
        entries
    })
}

fn node() -> impl Strategy<Value = Node> {
    leaf().prop_recursive(4, 40, 4, |inner| {
        prop_oneof![
            5 => (prop::bool::weighted(0.2), entries(inner.clone())).prop_map(|(flow, entries)| Node::Map(flow, entries)),
            4 => (prop::bool::weighted(0.2), prop::collection::vec(inner.clone(), 1..4)).prop_map(|(flow, items)| Node::Seq(flow, items)),
            2 => inner.clone().prop_map(|node| Node::Anchored(Box::new(node))),
            1 => (0usize..4, entries(inner)).prop_map(|(base, entries)| Node::Merged(base, entries)),
        ]
    })
}

pub(crate) fn layout() -> impl Strategy<Value = Layout> {
    (
        2usize..5,
        prop_oneof![Just(0usize), Just(2), Just(4)],
        2usize..5,
        prop_oneof![4 => Just("\n"), 1 => Just("\r\n")],
        prop_oneof![4 => Just(""), 1 => Just("\u{feff}"), 1 => Just("---\n"), 1 => Just("# head\n---\n")],
        prop::bool::weighted(0.8),
        prop::collection::vec(any::<u8>(), 8..40),
    )
        .prop_map(|(step, offset, dash, eol, start, final_break, noise)| Layout {
            step, offset, dash, eol, start, final_break, noise,
        })
}

/// Generates texts of documents whose root is a block mapping.
pub(crate) fn documents() -> impl Strategy<Value = String> {
    (entries(node()), layout()).prop_map(|(entries, layout)| print(&entries, &layout))
}

/// Prints a mapping as the text of a document.
pub(crate) fn print(entries: &[(&'static str, Node)], layout: &Layout) -> String {
    let mut printer = Printer {
        layout,
        out: String::new(),
        anchors: Vec::new(),
        maps: Vec::new(),
        noise: 0,
        comments: 0,
        below_block: false,
    };
    printer.entries(entries, None, 0);
    let text = format!("{}{}", layout.start, printer.out);
    let text = text.replace('\n', layout.eol);
    if layout.final_break {
        text
    } else {
        text.trim_end_matches(['\r', '\n']).to_owned()
    }
}

struct Printer<'l> {
    layout: &'l Layout,
    out: String,
    anchors: Vec<usize>,
    maps: Vec<usize>,
    noise: usize,
    comments: usize,
    below_block: bool,
}

impl Printer<'_> {
    fn next(&mut self) -> u8 {
        self.noise += 1;
        self.layout.noise[self.noise % self.layout.noise.len()]
    }

    fn comment(&mut self) -> String {
        self.comments += 1;
        format!("# c{}.", self.comments)
    }

    /// Ends a line, sometimes with a comment.
    fn line_end(&mut self) {
        if self.next().is_multiple_of(6) {
            let comment = self.comment();
            self.out.push_str(&format!(" {comment}"));
        }
        self.out.push('\n');
    }

    /// Sometimes writes a comment or an empty line between two nodes.
    fn between(&mut self, indent: usize) {
        match self.next() % 12 {
            0 => {
                let comment = self.comment();
                self.out
                    .push_str(&format!("{}{comment}\n", " ".repeat(indent)));
            }
            1 => self.out.push('\n'),
            2 => {
                let comment = self.comment();
                self.out
                    .push_str(&format!("{}{comment}\n", " ".repeat(indent + 2)));
            }
            _ => {}
        }
    }

    fn entries(&mut self, entries: &[(&'static str, Node)], merge: Option<usize>, indent: usize) {
        let mut first = true;
        if let Some(anchor) = merge {
            self.out.push_str(&format!("<<: *n{anchor}"));
            self.line_end();
            first = false;
        }
        for (key, node) in entries {
            if !first {
                self.separate(indent);
                self.out.push_str(&" ".repeat(indent));
            }
            first = false;
            self.out.push_str(&format!("{key}:"));
            self.value(node, indent, false);
        }
    }

    fn separate(&mut self, indent: usize) {
        // A comment or an empty line could become part of a block scalar.
        if !std::mem::take(&mut self.below_block) {
            self.between(indent);
        }
    }

    /// Writes a value after a `:` or a dash.
    fn value(&mut self, node: &Node, indent: usize, in_seq: bool) {
        match node {
            Node::Empty => self.line_end(),
            Node::Anchored(inner) if !matches!(**inner, Node::Alias(_) | Node::Anchored(_)) => {
                let name = self.anchors.len() + 1;
                self.anchors.push(0);
                self.out.push_str(&format!(" &n{name}"));
                self.value(inner, indent, false);
                if let Some(slot) = self.anchors.get_mut(name - 1) {
                    *slot = name;
                }
                if matches!(**inner, Node::Map(..)) {
                    self.maps.push(name);
                }
            }
            Node::Anchored(inner) => self.value(inner, indent, in_seq),
            Node::Block(header, lines) => self.block(header, lines, indent),
            Node::Map(false, entries) if !entries.is_empty() => {
                self.collection(node, indent, in_seq)
            }
            Node::Seq(false, items) if !items.is_empty() => self.collection(node, indent, in_seq),
            Node::Merged(..) => self.collection(node, indent, in_seq),
            Node::Map(_, entries) if !entries.is_empty() && self.next().is_multiple_of(3) => {
                let parts = entries
                    .iter()
                    .map(|(key, node)| format!("{key}: {}", self.flow(node)));
                let parts = parts.collect();
                self.flow_lines("{", parts, "}", indent);
            }
            Node::Seq(_, items) if !items.is_empty() && self.next().is_multiple_of(3) => {
                let parts = items.iter().map(|item| self.flow(item)).collect();
                self.flow_lines("[", parts, "]", indent);
            }
            _ => {
                let text = self.flow(node);
                self.out.push_str(&format!(" {text}"));
                self.line_end();
            }
        }
    }

    fn block(&mut self, header: &str, lines: &[&str], indent: usize) {
        let step = if header.ends_with('2') {
            2
        } else {
            self.layout.step
        };
        self.out.push_str(&format!(" {header}"));
        self.line_end();
        for line in lines {
            let pad = if line.is_empty() { 0 } else { indent + step };
            self.out.push_str(&format!("{}{line}\n", " ".repeat(pad)));
        }
        self.below_block = true;
    }

    fn collection(&mut self, node: &Node, indent: usize, inline: bool) {
        let column = match (node, inline) {
            (_, true) => indent + self.layout.dash,
            (Node::Seq(..), false) if self.layout.offset == 0 && self.can_be_indentless() => indent,
            (Node::Seq(..), false) => indent + self.layout.offset.max(2),
            _ => indent + self.layout.step,
        };
        if inline {
            self.out.push_str(&" ".repeat(self.layout.dash - 1));
        } else {
            self.line_end();
            self.between(column);
            self.out.push_str(&" ".repeat(column));
        }
        match node {
            Node::Seq(_, items) => self.items(items, column),
            Node::Merged(base, entries) => {
                let base = self.maps.get(base % self.maps.len().max(1)).copied();
                self.entries(entries, base, column);
            }
            Node::Map(_, entries) => self.entries(entries, None, column),
            _ => {}
        }
    }

    /// Returns whether a sequence can start at the column of its key, which requires that it has a key.
    fn can_be_indentless(&self) -> bool {
        let line = self
            .out
            .rsplit('\n')
            .next()
            .unwrap_or_default()
            .trim_start();
        !line.starts_with('-') || line.contains(':')
    }

    fn items(&mut self, items: &[Node], column: usize) {
        for (index, item) in items.iter().enumerate() {
            if index > 0 {
                self.separate(column);
                self.out.push_str(&" ".repeat(column));
            }
            self.out.push('-');
            self.value(item, column, true);
        }
    }

    /// Writes a flow collection with a line for each part.
    fn flow_lines(&mut self, open: &str, parts: Vec<String>, close: &str, indent: usize) {
        self.out.push_str(&format!(" {open}"));
        self.line_end();
        let count = parts.len();
        for (index, part) in parts.into_iter().enumerate() {
            self.between(indent + self.layout.step);
            let comma = if index + 1 < count || self.next().is_multiple_of(2) {
                ","
            } else {
                ""
            };
            let pad = " ".repeat(indent + self.layout.step);
            self.out.push_str(&format!("{pad}{part}{comma}"));
            self.line_end();
        }
        self.out
            .push_str(&format!("{}{close}", " ".repeat(indent + 1)));
        self.line_end();
    }

    /// Writes a node on one line.
    fn flow(&mut self, node: &Node) -> String {
        match node {
            Node::Empty => "null".to_owned(),
            Node::Plain("::1") => "x".to_owned(),
            Node::Plain(text) => (*text).to_owned(),
            Node::Single(text) => format!("'{text}'"),
            Node::Double(text) => format!("\"{text}\""),
            Node::Block(_, lines) => format!("\"{}\"", lines.join(" ")),
            Node::Anchored(inner) => self.flow(inner),
            Node::Alias(index) => {
                let done: Vec<usize> = self
                    .anchors
                    .iter()
                    .copied()
                    .filter(|&name| name > 0)
                    .collect();
                match done.get(index % done.len().max(1)) {
                    Some(name) => format!("*n{name}"),
                    None => "null".to_owned(),
                }
            }
            Node::Map(_, entries) | Node::Merged(_, entries) => {
                let parts: Vec<String> = entries
                    .iter()
                    .map(|(key, node)| format!("{key}: {}", self.flow(node)))
                    .collect();
                format!("{{{}}}", parts.join(", "))
            }
            Node::Seq(_, items) => {
                let parts: Vec<String> = items.iter().map(|item| self.flow(item)).collect();
                format!("[{}]", parts.join(", "))
            }
        }
    }
}
