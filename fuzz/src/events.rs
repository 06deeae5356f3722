//! A document as a list of events, from our tree and from yaml-rust2.

use meshprobe::yaml::{Kind, NodeRef, Style, Tree};
use yaml_rust2::Event;
use yaml_rust2::parser::{MarkedEventReceiver, Parser};
use yaml_rust2::scanner::{Marker, TScalarStyle};

/// Returns the events of our tree.
pub(crate) fn ours(tree: &Tree) -> Vec<String> {
    let mut events = Vec::new();
    if let Some(root) = tree.root() {
        list(root, &mut events);
    }
    events
}

fn list(node: NodeRef<'_>, events: &mut Vec<String>) {
    match node.kind() {
        Kind::Alias => events.push("*".to_owned()),
        Kind::Scalar if node.style() == Style::Empty => events.push("Plain ~".to_owned()),
        Kind::Scalar => {
            let style = match node.style() {
                Style::SingleQuoted => "Single",
                Style::DoubleQuoted => "Double",
                Style::Literal => "Literal",
                Style::Folded => "Folded",
                _ => "Plain",
            };
            events.push(format!("{style} {}", node.text().unwrap_or_default()));
        }
        Kind::Sequence => {
            events.push("[".to_owned());
            node.items().for_each(|item| list(item, events));
            events.push("]".to_owned());
        }
        Kind::Mapping => {
            events.push("{".to_owned());
            for entry in node.entries() {
                list(entry.key, events);
                list(entry.value, events);
            }
            events.push("}".to_owned());
        }
    }
}

struct Receiver {
    documents: usize,
    events: Vec<String>,
}

impl MarkedEventReceiver for Receiver {
    fn on_event(&mut self, event: Event, _: Marker) {
        let text = match event {
            Event::DocumentStart => {
                self.documents += 1;
                return;
            }
            _ if self.documents > 1 => return,
            Event::Alias(_) => "*".to_owned(),
            // An empty value is reported with an empty text or with `~`.
            Event::Scalar(text, TScalarStyle::Plain, ..) if text.is_empty() => "Plain ~".to_owned(),
            Event::Scalar(text, style, ..) => {
                let style = match style {
                    TScalarStyle::SingleQuoted => "Single",
                    TScalarStyle::DoubleQuoted => "Double",
                    TScalarStyle::Literal => "Literal",
                    TScalarStyle::Folded => "Folded",
                    _ => "Plain",
                };
                format!("{style} {text}")
            }
            Event::SequenceStart(..) => "[".to_owned(),
            Event::SequenceEnd => "]".to_owned(),
            Event::MappingStart(..) => "{".to_owned(),
            Event::MappingEnd => "}".to_owned(),
            _ => return,
        };
        self.events.push(text);
    }
}

/// Returns the events that yaml-rust2 reads from the first document of a text.
///
/// yaml-rust2 adds a line break to a block scalar at the end of a file without one. libyaml, go-yaml and our parser
/// do not add it.
pub(crate) fn theirs(text: &str) -> Result<Vec<String>, String> {
    let mut receiver = Receiver {
        documents: 0,
        events: Vec::new(),
    };
    let mut parser = Parser::new_from_str(text.strip_prefix('\u{feff}').unwrap_or(text));
    parser
        .load(&mut receiver, true)
        .map_err(|error| error.to_string())?;
    Ok(receiver.events)
}

/// Describes the first difference, if there is one.
pub(crate) fn difference(ours: &[String], theirs: &[String], text: &str) -> Option<String> {
    let cut_off = !text.ends_with('\n');
    let same = |(ours, theirs): (&String, &String)| {
        let block = ours.starts_with("Literal") || ours.starts_with("Folded");
        // yaml-rust2 also adds a line break to a block scalar without lines.
        let without_lines = ours.ends_with(' ') && !ours.trim_end().contains(' ');
        let shorter = theirs.strip_suffix('\n') == Some(ours);
        ours == theirs || (block && shorter && (cut_off || without_lines))
    };
    let at = ours.iter().zip(theirs).position(|pair| !same(pair));
    match at {
        Some(at) => Some(format!(
            "event {at}: ours {:?}, theirs {:?}",
            ours[at], theirs[at]
        )),
        None if ours.len() != theirs.len() => {
            Some(format!("{} events, theirs {}", ours.len(), theirs.len()))
        }
        None => None,
    }
}

/// Checks that spans are inside those of their parents, and that the source of each node fits its style.
pub(crate) fn check_spans(tree: &Tree) -> Result<(), String> {
    let Some(root) = tree.root() else {
        return Ok(());
    };
    let mut stack = vec![root];
    while let Some(node) = stack.pop() {
        check_span(node)?;
        if node.kind() == Kind::Alias {
            continue;
        }
        let entries = node.entries().flat_map(|entry| [entry.key, entry.value]);
        for child in entries.chain(node.items()) {
            if !node.outer_span().contains(child.outer_span()) {
                return Err(format!("{child:?} is outside of {node:?}"));
            }
            stack.push(child);
        }
    }
    Ok(())
}

fn check_span(node: NodeRef<'_>) -> Result<(), String> {
    let source = node.source();
    let fits = match (node.kind(), node.style()) {
        (Kind::Alias, _) => source.starts_with('*'),
        (_, Style::Flow) => {
            source.starts_with(['{', '[']) && source.ends_with(['}', ']'])
                // A pair in brackets without its own braces: `[a: b]`.
                || node.parent().is_some_and(|parent| parent.style() == Style::Flow)
        }
        // A block collection may end with a block scalar that keeps its empty lines.
        (_, Style::Block) => !source.starts_with([' ', '\t', '#']) && !source.ends_with('\r'),
        (_, Style::Empty) => source.is_empty(),
        (_, Style::Literal) => source.starts_with('|') && !source.ends_with('\r'),
        (_, Style::Folded) => source.starts_with('>') && !source.ends_with('\r'),
        (_, Style::Plain) if source.contains('\n') => !source.ends_with([' ', '\n']),
        (_, Style::Plain) => Some(source) == node.text(),
        (_, Style::DoubleQuoted) => source.starts_with('"') && source.ends_with('"'),
        (_, Style::SingleQuoted) => source.starts_with('\'') && source.ends_with('\''),
    };
    if fits {
        Ok(())
    } else {
        Err(format!(
            "{node:?} {:?} does not fit {source:?}",
            node.style()
        ))
    }
}

/// Compares all strings of a tree with those that libyaml reads. Neither side applies merge keys.
pub(crate) fn check_strings(node: NodeRef<'_>, value: &serde_yaml::Value) -> Result<(), String> {
    use serde_yaml::Value;
    match value {
        Value::String(text) if node.text() == Some(text) => Ok(()),
        Value::String(text) => Err(format!("{node:?}: {:?}, libyaml {text:?}", node.text())),
        Value::Sequence(items) if items.len() == node.items().len() => {
            let mut pairs = node.items().zip(items);
            pairs.try_for_each(|(node, value)| check_strings(node, value))
        }
        Value::Mapping(entries) if entries.len() == node.entries().len() => {
            let mut pairs = node.entries().zip(entries);
            pairs.try_for_each(|(entry, (key, value))| {
                check_strings(entry.key, key)?;
                check_strings(entry.value, value)
            })
        }
        Value::Sequence(_) | Value::Mapping(_) => Err(format!("{node:?} has other children")),
        Value::Tagged(tagged) => check_strings(node, &tagged.value),
        Value::Null | Value::Bool(_) | Value::Number(_) => match node.resolved().kind() {
            Kind::Scalar => Ok(()),
            _ => Err(format!("{node:?} is a scalar for libyaml")),
        },
    }
}
