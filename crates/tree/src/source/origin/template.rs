//! Finds a field of a rendered object in its template. A template is not YAML, but most of its lines are: keys and
//! their indentation identify a field.
//!
//! Parses the lines of a template that have a key, with their parents. A node stores only its parent, so that the
//! memory of a line does not grow with its depth.
//!
//! Path from an object to a field, in a form that is also valid in another text.

use hashbrown::HashMap;
use meshprobe_yaml::{Kind, NodeRef, Span};

use crate::source::model::document::Content;
use crate::source::model::file::SourceFile;
use crate::source::model::objects::last_around;

/// Maximum number of fields of a template that are compared with a field of a rendered object; with more, no line is
/// named.
const MOST_CANDIDATES: usize = 1_000;
/// Maximum length in bytes of a flow mapping that is searched for a key.
const LONGEST_FLOW: usize = 4_096;

/// Returns whether the file is a template, which must be read as lines.
pub(super) fn is_template(file: &SourceFile) -> bool {
    let mut documents = file.documents.iter();
    file.chart_template || documents.any(|document| matches!(document.content, Content::Template))
}

/// Fields of a template by their paths.
#[derive(Debug)]
pub(super) struct Template {
    /// The fields; the first is the root of all documents.
    fields: Vec<Field>,
}

/// Field of a template. Lines with the same path are one field.
#[derive(Debug, Default)]
struct Field {
    /// Its first line; `None` for items of lists.
    line: Option<Line>,
    /// Whether it has further lines.
    several: bool,
    keys: HashMap<String, usize>,
    /// The items of a list by their literal names.
    named: HashMap<String, usize>,
    /// All items of a list without a literal name.
    unnamed: Option<usize>,
}

/// Lines that match a path.
enum Found<'l> {
    None,
    One(&'l Line),
    Several,
}

impl Template {
    /// Parses the lines of a template.
    pub(super) fn new(text: &str) -> Self {
        let nodes = read(text);
        let mut template = Self {
            fields: vec![Field::default()],
        };
        // The fields of the nodes: a parent comes before its children.
        let mut fields: Vec<usize> = Vec::with_capacity(nodes.len());
        for node in &nodes {
            let parent = node.parent.and_then(|parent| fields.get(parent));
            fields.push(template.add(text, parent.copied().unwrap_or(0), node));
        }
        template
    }

    /// Adds a node below a field. Returns the number of its field.
    fn add(&mut self, text: &str, parent: usize, node: &Node) -> usize {
        let next = self.fields.len();
        let Some(parent) = self.fields.get_mut(parent) else {
            return parent;
        };
        let number = match &node.part {
            Part::Key(line) => *parent.keys.entry_ref(line.key.slice(text)).or_insert(next),
            Part::Item(Some(name)) => *parent.named.entry_ref(name.slice(text)).or_insert(next),
            Part::Item(None) => *parent.unnamed.get_or_insert(next),
        };
        if number == next {
            self.fields.push(Field::default());
        }
        if let (Some(field), Part::Key(line)) = (self.fields.get_mut(number), &node.part) {
            field.several = field.line.is_some();
            field.line.get_or_insert(*line);
        }
        number
    }

    /// Returns the bytes of the field at a path, or of an ancestor key if an expression fills in everything
    /// below it. Returns `None` unless exactly one line matches.
    pub(super) fn find(&self, text: &str, path: &FieldSteps<'_>) -> Option<Span> {
        if let Some(FieldStep::Item { .. }) = path.steps.last() {
            let mut steps = path.steps.clone();
            steps.push(FieldStep::Key("name"));
            return match self.at(&steps) {
                Found::One(line) => Some(line.key),
                Found::None | Found::Several => None,
            };
        }
        let mut steps = path.steps.as_slice();
        let mut found = self.at(steps);
        if let Found::One(line) = found {
            let whole = Span::new(line.key.start, line.value.end.max(line.key.end));
            return Some(match path.covers {
                Covers::Key => line.key,
                Covers::Entry => whole,
                Covers::Value if line.value.is_empty() => line.key,
                Covers::Value => line.value,
            });
        }
        while let (Found::None, [rest @ .., _]) = (&found, steps) {
            steps = rest;
            found = self.at(steps);
        }
        let Found::One(line) = found else {
            return None;
        };
        if let Some(FieldStep::Key(key)) = path.steps.last()
            && let Some(span) = in_flow(text, line, key)
        {
            return Some(span);
        }
        line.filled_in.then_some(line.key)
    }

    /// Returns the line at the end of a path. Of several lines, returns the one whose items match the most names.
    fn at(&self, steps: &[FieldStep<'_>]) -> Found<'_> {
        let mut reached: Vec<(usize, &Field)> = self
            .fields
            .first()
            .map(|root| (0, root))
            .into_iter()
            .collect();
        for step in steps {
            let mut next = Vec::new();
            for (matching, field) in reached {
                if next.len() + field.named.len() > MOST_CANDIDATES && is_any(step) {
                    return Found::Several;
                }
                self.step(matching, field, step, &mut next);
            }
            if next.len() > MOST_CANDIDATES {
                return Found::Several;
            }
            reached = next;
        }
        let lines = || {
            reached
                .iter()
                .filter_map(|(matching, field)| Some((*matching, field, field.line.as_ref()?)))
        };
        let Some(maximum) = lines().map(|(matching, ..)| matching).max() else {
            return Found::None;
        };
        let mut best = lines().filter(|(matching, ..)| *matching == maximum);
        match (best.next(), best.next()) {
            (Some((_, field, line)), None) if !field.several => Found::One(line),
            _ => Found::Several,
        }
    }

    /// Adds the fields one step below `field`, with the number of names that match on the path.
    fn step<'l>(
        &'l self,
        matching: usize,
        field: &Field,
        step: &FieldStep<'_>,
        next: &mut Vec<(usize, &'l Field)>,
    ) {
        let mut add = |matching: usize, number: Option<&usize>| {
            let field = number.and_then(|number| self.fields.get(*number));
            next.extend(field.map(|field| (matching, field)));
        };
        match step {
            FieldStep::Key(key) => add(matching, field.keys.get(*key)),
            FieldStep::Item {
                name: Some(name), ..
            } => {
                add(matching + 1, field.named.get(*name));
                add(matching, field.unnamed.as_ref());
            }
            FieldStep::Item { name: None, .. } => {
                for number in field.named.values() {
                    add(matching, Some(number));
                }
                add(matching, field.unnamed.as_ref());
            }
        }
    }
}

/// Returns whether a step leads to all items of a list, whatever their names.
const fn is_any(step: &FieldStep<'_>) -> bool {
    matches!(step, FieldStep::Item { name: None, .. })
}

/// Returns the bytes of a key of a flow mapping on one line; `None` unless the key occurs exactly once.
fn in_flow(text: &str, line: &Line, key: &str) -> Option<Span> {
    let value = line.value.slice(text);
    if !value.starts_with('{') || value.starts_with("{{") || value.len() > LONGEST_FLOW {
        return None;
    }
    let is_key = |at: &usize| {
        let before = value.get(..*at).unwrap_or_default().chars().next_back();
        let behind = value.get(at + key.len()..).unwrap_or_default();
        let behind = behind.trim_start_matches(['"', '\'']);
        before.is_some_and(|c| "{, \"'".contains(c)) && behind.starts_with(':')
    };
    let mut all = value.match_indices(key).map(|(at, _)| at).filter(is_key);
    let at = line.value.start + all.next()?;
    all.next().is_none().then(|| Span::new(at, at + key.len()))
}

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

/// Step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FieldStep<'t> {
    /// The value of a key.
    Key(&'t str),
    /// An item of a list.
    Item {
        /// Its `name`, if it has one.
        name: Option<&'t str>,
        /// Its index.
        index: usize,
        /// The number of items.
        of: usize,
    },
}

/// Path to a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FieldSteps<'t> {
    pub(super) steps: Vec<FieldStep<'t>>,
    pub(super) covers: Covers,
}

/// Part of the last step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Covers {
    Key,
    Value,
    /// From the key to the end of the value.
    Entry,
}

/// Returns the path to the text at `span` in `object`.
pub(super) fn to<'t>(object: NodeRef<'t>, span: Span) -> Option<FieldSteps<'t>> {
    let mut steps = Vec::new();
    let mut node = object;
    let is_target = |node: NodeRef<'t>| node.span() == span || node.outer_span() == span;
    // An alias may lead to a node that contains the alias.
    while !is_target(node) && node.kind() != Kind::Alias {
        if let Some(entry) = node.entries().find(|entry| entry.span().contains(span)) {
            steps.push(FieldStep::Key(entry.key.text()?));
            let covers = if entry.key.outer_span().contains(span) {
                Covers::Key
            } else if span.start < entry.value.outer_span().start {
                Covers::Entry
            } else {
                node = entry.value;
                continue;
            };
            return Some(FieldSteps { steps, covers });
        }
        let count = node.items().len();
        let Some((index, item)) = last_around(count, |index| node.item(index), span) else {
            // The span is in a scalar, or between two fields.
            break;
        };
        steps.push(FieldStep::Item {
            name: name(item),
            index,
            of: count,
        });
        node = item;
    }
    let covers = Covers::Value;
    (!steps.is_empty()).then_some(FieldSteps { steps, covers })
}

/// Returns the name that distinguishes an item of a list from the others.
pub(super) fn name(item: NodeRef<'_>) -> Option<&str> {
    item.get("name").and_then(NodeRef::text)
}
