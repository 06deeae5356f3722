//! Finds a field of a rendered object in its template. A template is not YAML, but most of its lines are: keys and
//! their indentation identify a field.

use hashbrown::HashMap;
use meshprobe_yaml::Span;

use super::field_steps::{Covers, FieldStep, FieldSteps};
use super::template_lines::{Line, Node, Part, read};
use crate::source::model::document::Content;
use crate::source::model::file::SourceFile;

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
