//! Finds a field of a rendered object in the template that made it. A template is not YAML, but
//! most lines of it are: keys and their indentation say where a field is.

use hashbrown::HashMap;

use crate::source::document::Content;
use crate::source::file::SourceFile;
use crate::yaml::Span;

use super::hops::{Covers, Hop, Hops};
use super::template_lines::{Line, Node, Part, read};

/// How many fields of a template are compared with one of a rendered object; beyond this, no line is named.
const MOST_CANDIDATES: usize = 1_000;
/// How long a mapping in braces may be to be searched for a key: bytes.
const LONGEST_FLOW: usize = 4_096;

/// Reports whether the file must be read as lines.
pub(super) fn is_template(file: &SourceFile) -> bool {
    let mut documents = file.documents.iter();
    file.chart_template || documents.any(|one| matches!(one.content, Content::Template))
}

/// The fields of a template by the way to them.
#[derive(Debug)]
pub(super) struct Template {
    /// The first is that of whole documents.
    fields: Vec<Field>,
}

/// A field; lines of the same way are one field.
#[derive(Debug, Default)]
struct Field {
    /// Its first line; items of lists have none of their own.
    line: Option<Line>,
    /// It has more lines.
    several: bool,
    keys: HashMap<String, usize>,
    /// Items of lists by their literal names.
    named: HashMap<String, usize>,
    /// All items of lists without one.
    unnamed: Option<usize>,
}

enum Found<'l> {
    Never,
    Once(&'l Line),
    Often,
}

impl Template {
    /// Reads the lines of a template.
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

    /// Adds one node below a field; returns the number of its field.
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

    /// Returns the bytes of the field; of the key above it where an expression fills in all below.
    /// Returns `None` unless exactly one line matches.
    pub(super) fn find(&self, text: &str, hops: &Hops<'_>) -> Option<Span> {
        if let Some(Hop::Item { .. }) = hops.steps.last() {
            let mut steps = hops.steps.clone();
            steps.push(Hop::Key("name"));
            return match self.at(&steps) {
                Found::Once(line) => Some(line.key),
                Found::Never | Found::Often => None,
            };
        }
        let mut steps = hops.steps.as_slice();
        let mut found = self.at(steps);
        if let Found::Once(line) = found {
            let whole = Span::new(line.key.start, line.value.end.max(line.key.end));
            return Some(match hops.covers {
                Covers::Key => line.key,
                Covers::Entry => whole,
                Covers::Value if line.value.is_empty() => line.key,
                Covers::Value => line.value,
            });
        }
        while let (Found::Never, [rest @ .., _]) = (&found, steps) {
            steps = rest;
            found = self.at(steps);
        }
        let Found::Once(line) = found else {
            return None;
        };
        if let Some(Hop::Key(key)) = hops.steps.last()
            && let Some(span) = in_flow(text, line, key)
        {
            return Some(span);
        }
        line.filled_in.then_some(line.key)
    }

    /// Returns the line at the end of a way: of several, that whose items agree in the most names.
    fn at(&self, steps: &[Hop<'_>]) -> Found<'_> {
        let mut reached: Vec<(usize, &Field)> = self
            .fields
            .first()
            .map(|all| (0, all))
            .into_iter()
            .collect();
        for hop in steps {
            let mut next = Vec::new();
            for (agree, field) in reached {
                if next.len() + field.named.len() > MOST_CANDIDATES && is_any(hop) {
                    return Found::Often;
                }
                self.step(agree, field, hop, &mut next);
            }
            if next.len() > MOST_CANDIDATES {
                return Found::Often;
            }
            reached = next;
        }
        let lines = || {
            reached
                .iter()
                .filter_map(|(agree, field)| Some((*agree, field, field.line.as_ref()?)))
        };
        let Some(most) = lines().map(|(agree, ..)| agree).max() else {
            return Found::Never;
        };
        let mut best = lines().filter(|(agree, ..)| *agree == most);
        match (best.next(), best.next()) {
            (Some((_, field, line)), None) if !field.several => Found::Once(line),
            _ => Found::Often,
        }
    }

    /// Adds the fields one step below `field`, with the number of names that agree on the way.
    fn step<'l>(
        &'l self,
        agree: usize,
        field: &Field,
        hop: &Hop<'_>,
        next: &mut Vec<(usize, &'l Field)>,
    ) {
        let mut add = |agree: usize, number: Option<&usize>| {
            let field = number.and_then(|number| self.fields.get(*number));
            next.extend(field.map(|field| (agree, field)));
        };
        match hop {
            Hop::Key(key) => add(agree, field.keys.get(*key)),
            Hop::Item {
                name: Some(name), ..
            } => {
                add(agree + 1, field.named.get(*name));
                add(agree, field.unnamed.as_ref());
            }
            Hop::Item { name: None, .. } => {
                for number in field.named.values() {
                    add(agree, Some(number));
                }
                add(agree, field.unnamed.as_ref());
            }
        }
    }
}

/// Reports whether a step leads to items of all names.
const fn is_any(hop: &Hop<'_>) -> bool {
    matches!(hop, Hop::Item { name: None, .. })
}

/// Returns a key of a mapping in braces, all on one line.
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
