//! Parses the lines of a template that have a key, with their parents. A node stores only its parent, so that the
//! memory of a line does not grow with its depth.

use meshprobe_yaml::Span;

/// Key or item of a list.
#[derive(Debug)]
pub(super) struct Node {
    /// The number of the parent node; `None` at the top of a document.
    pub(super) parent: Option<usize>,
    pub(super) part: Part,
}

/// Kind of a node.
#[derive(Debug)]
pub(super) enum Part {
    Key(Line),
    /// An item with its literal name, if it has one.
    Item(Option<Span>),
}

/// Line with a key.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    pub(super) key: Span,
    pub(super) value: Span,
    /// Whether expressions alone produce the value.
    pub(super) filled_in: bool,
}

/// Returns the nodes of a template, parents before their children.
pub(super) fn read(text: &str) -> Vec<Node> {
    let mut reader = Reader::default();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let at = start;
        start += line.len();
        let line = line.trim_end();
        let content = line.trim_start();
        if content.is_empty() || content.starts_with('#') {
            continue;
        }
        if content.starts_with("{{") {
            reader.expressions += usize::from(!is_control(content));
            continue;
        }
        reader.end_of_expressions(line.len() - content.len(), content);
        if content.starts_with("---") {
            reader.frames.clear();
        } else {
            reader.read_line(at, line);
        }
    }
    if let Some(open) = reader.open.take() {
        reader.fill_in(open.node);
    }
    reader.nodes
}

/// Ancestor of the current line.
struct Frame {
    indent: usize,
    node: usize,
    is_item: bool,
}

/// Key without a value on its line.
struct Open {
    indent: usize,
    node: usize,
}

#[derive(Default)]
struct Reader {
    nodes: Vec<Node>,
    frames: Vec<Frame>,
    open: Option<Open>,
    /// The number of expression lines since the last line with content.
    expressions: usize,
}

impl Reader {
    /// Handles the end of a series of expressions, at the next line with content: if that is not below the last key,
    /// the expressions fill in the value of the key.
    fn end_of_expressions(&mut self, indent: usize, content: &str) {
        if let Some(open) = self.open.take() {
            let is_below =
                indent > open.indent || indent == open.indent && content.starts_with('-');
            if !is_below {
                self.fill_in(open.node);
            }
        }
        self.expressions = 0;
    }

    fn fill_in(&mut self, node: usize) {
        if let Some(Part::Key(line)) = self.nodes.get_mut(node).map(|node| &mut node.part) {
            line.filled_in = self.expressions > 0;
        }
    }

    fn push(&mut self, indent: usize, part: Part) -> usize {
        let node = self.nodes.len();
        let is_item = matches!(part, Part::Item(_));
        let parent = self.frames.last().map(|frame| frame.node);
        self.nodes.push(Node { parent, part });
        self.frames.push(Frame {
            indent,
            node,
            is_item,
        });
        node
    }

    fn leave(&mut self, keeps: impl Fn(&Frame) -> bool) {
        while self.frames.pop_if(|frame| !keeps(frame)).is_some() {}
    }

    fn read_line(&mut self, at: usize, line: &str) {
        let mut rest = line.trim_start();
        let mut indent = line.len() - rest.len();
        while let Some(item) = rest.strip_prefix("- ") {
            // A list may have the same indentation as its key.
            self.leave(|frame| frame.indent < indent || !frame.is_item && frame.indent == indent);
            self.push(indent, Part::Item(None));
            rest = item.trim_start();
            indent = line.len() - rest.len();
        }
        let Some((key, value)) = entry(rest) else {
            return;
        };
        self.leave(|frame| frame.indent < indent);
        let end = at + line.len();
        let value_span = Span::new(end - value.len(), end);
        if key == "name" && !value.contains("{{") {
            self.name_item(value, value_span);
        }
        let line = Line {
            key: Span::new(at + indent, at + indent + key.len()),
            value: value_span,
            filled_in: value.starts_with("{{"),
        };
        let node = self.push(indent, Part::Key(line));
        self.open = value.is_empty().then_some(Open { indent, node });
    }

    /// Sets the name of the current item, without quotes.
    fn name_item(&mut self, value: &str, span: Span) {
        let quotes = ['"', '\''];
        let start = span.end - value.trim_start_matches(quotes).len();
        let length = value.trim_matches(quotes).len();
        if let Some(frame) = self.frames.last()
            && let Some(Part::Item(name)) =
                self.nodes.get_mut(frame.node).map(|node| &mut node.part)
        {
            *name = Some(Span::new(start, start + length));
        }
    }
}

/// Splits a line into a key and the value after it.
fn entry(text: &str) -> Option<(&str, &str)> {
    let (key, value) = text.split_once(':')?;
    let is_key = |c: char| c.is_ascii_alphanumeric() || "-_./".contains(c);
    let ends = value.is_empty() || value.starts_with([' ', '\t']);
    (ends && !key.is_empty() && key.chars().all(is_key)).then(|| (key, value.trim_start()))
}

/// Returns whether an expression is a branch, a loop or the like, which does not print anything itself.
fn is_control(expression: &str) -> bool {
    let words = expression.trim_start_matches("{{").trim_start_matches('-');
    let word = words.trim_start().split([' ', '}', '-']).next();
    let control = ["if", "else", "end", "with", "range", "define", "/*"];
    word.is_none_or(|word| control.contains(&word)) || words.trim_start().starts_with('$')
}
