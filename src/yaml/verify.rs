//! The referee: reads a document before and after its edits with a second, independent parser.
//!
//! That parser is of libyaml's line, as kubectl's is, and shares no code with ours. What it reads
//! before, with the intended changes made to the value, must be what it reads after. Before that,
//! both must read the original alike.

mod agreement;
mod alias_weight;
mod brackets;
mod compare;
mod root_keys;

use std::borrow::Cow;
use std::cell::Cell;
use std::sync::Arc;

use compare::compare;
use hashbrown::HashSet;
use root_keys::Outline;
use serde::Deserialize as _;
use serde::de::IgnoredAny;
use serde_yaml::Value as Yaml;

use super::change::Change;
use super::edit::{Edit, splice};
use super::marker::without_byte_order_mark;
use super::merge::effective_entries;
use super::parse::parse;
use super::scalar::Scalar;
use super::span::Span;
use super::tree::{Kind, NodeRef, Tree};

pub(super) use agreement::{disagreement, hidden_content, hidden_mapping};
pub use brackets::has_too_many_brackets;

/// Nodes that aliases may repeat; more is an attack or a mistake.
const REPEATED: usize = 100_000;
/// Nesting that both parsers read.
const DEPTH: usize = 128;

/// Checks that `after`, the edited text of one document, is read as `before` with `changes` made.
///
/// # Errors
/// In words for the user: which of the two texts cannot be read, or the first field that differs.
pub fn verify(before: &str, changes: &[Change], after: &str) -> Result<(), String> {
    let tree = parsed(before).map_err(|reason| format!("the document {reason}"))?;
    check(&tree, changes, after)
}

/// Checks an edit as [`verify`] does, for a document that is parsed already. Both parsers must read
/// the document alike before it is edited.
pub(super) fn check_edit(before: &Tree, changes: &[Change], after: &str) -> Result<(), String> {
    let readings = Readings::of(before).map_err(|reason| format!("the document {reason}"))?;
    if let Some(difference) = agreement::difference(before, &readings.referee) {
        return Err(format!("the document has two readings: {difference}"));
    }
    check_from(readings, changes, after)
}

fn check(before: &Tree, changes: &[Change], after: &str) -> Result<(), String> {
    let readings = Readings::of(before).map_err(|reason| format!("the document {reason}"))?;
    check_from(readings, changes, after)
}

fn check_from(before: Readings, changes: &[Change], after: &str) -> Result<(), String> {
    let changed = |reason: String| format!("the edited document {reason}");
    let tree = parsed(after).map_err(changed)?;
    let after = Readings::of(&tree).map_err(changed)?;
    compare(before.own, changes, &after.own, None)?;
    compare(before.referee, changes, &after.referee, tree.root())
}

/// What the two parsers read from a document.
struct Readings {
    own: Yaml,
    referee: Yaml,
}

impl Readings {
    fn of(tree: &Tree) -> Result<Self, String> {
        measure(tree)?;
        Ok(Self {
            own: own_value(tree)?,
            referee: referee_value(&with_own_names(tree))?,
        })
    }
}

fn parsed(text: &str) -> Result<Tree, String> {
    let text: Arc<str> = Arc::from(text);
    let segment = Span::new(0, str::len(&text));
    match parse(&text, segment) {
        Ok(Some(tree)) => Ok(tree),
        Ok(None) => Err("is empty".to_owned()),
        Err(error) => Err(format!("is no YAML: {}", error.message)),
    }
}

/// Returns the text for the other parser, which takes the second of two anchors with one name for
/// another one: there each gets a name of its own.
fn with_own_names(tree: &Tree) -> Cow<'_, str> {
    let text = tree.text();
    let mut names = HashSet::new();
    if tree
        .anchors()
        .all(|anchor| names.insert(anchor.slice(text)))
    {
        return Cow::Borrowed(tree.segment().slice(text));
    }
    let renamed = |mark: char, span: Span, node: NodeRef<'_>| Edit {
        span,
        text: format!("{mark}a{}", node.id()),
    };
    let mut edits = Vec::new();
    for node in tree.all() {
        edits.extend(node.anchor_span().map(|span| renamed('&', span, node)));
        if node.kind() == Kind::Alias {
            edits.push(renamed('*', node.span(), node.resolved()));
        }
    }
    edits.sort_by_key(|edit| edit.span.start);
    let behind = text.len() - tree.segment().end;
    let whole = splice(text, &edits);
    let end = whole.len().saturating_sub(behind);
    Cow::Owned(
        Span::new(tree.segment().start, end)
            .slice(&whole)
            .to_owned(),
    )
}

/// Refuses what the other parser reads at length: it repeats nodes as often as aliases say.
fn measure(tree: &Tree) -> Result<(), String> {
    let mut budget = tree.node_count().saturating_add(REPEATED);
    let mut stack: Vec<NodeRef<'_>> = tree.root().into_iter().collect();
    while let Some(node) = stack.pop() {
        budget = budget
            .checked_sub(1)
            .ok_or_else(|| "repeats too many nodes through aliases".to_owned())?;
        let node = node.resolved();
        stack.extend(node.items());
        stack.extend(node.entries().map(|entry| entry.value));
        let keys = node.entries().map(|entry| entry.key);
        stack.extend(keys.filter(|key| key.kind() != Kind::Scalar));
    }
    Ok(())
}

/// Reads a document as Kubernetes tooling does, through our own tree; keys stay as written.
fn own_value(tree: &Tree) -> Result<Yaml, String> {
    let root = tree.root().ok_or_else(|| "is empty".to_owned())?;
    node_value(
        root,
        DEPTH,
        &Cell::new(tree.node_count().saturating_add(REPEATED)),
    )
}

fn node_value(node: NodeRef<'_>, depth: usize, budget: &Cell<usize>) -> Result<Yaml, String> {
    let depth = depth
        .checked_sub(1)
        .ok_or_else(|| format!("nests deeper than {DEPTH}"))?;
    if let Some(scalar) = node.scalar() {
        return Ok(scalar_value(scalar));
    }
    if node.is_sequence() {
        let items = node.items().map(|item| node_value(item, depth, budget));
        return Ok(Yaml::Sequence(items.collect::<Result<_, _>>()?));
    }
    let entries = effective_entries(node, budget)
        .map_err(|_| "repeats too many nodes through merge keys".to_owned())?;
    let entries = entries.into_iter().map(|entry| {
        let key = entry
            .key
            .text()
            .ok_or("has a key that is no single value")?;
        let value = node_value(entry.value, depth, budget)?;
        Ok::<_, String>((Yaml::String(key.to_owned()), value))
    });
    Ok(Yaml::Mapping(entries.collect::<Result<_, _>>()?))
}

fn scalar_value(scalar: Scalar<'_>) -> Yaml {
    match scalar {
        Scalar::Null => Yaml::Null,
        Scalar::Bool(value) => Yaml::Bool(value),
        Scalar::Int(value) => Yaml::Number(value.into()),
        Scalar::UInt(value) => Yaml::Number(value.into()),
        Scalar::Float(value) => Yaml::Number(value.into()),
        Scalar::Str(text) => Yaml::String(text.to_owned()),
    }
}

/// Reads the first document of a text with the independent parser, as kubectl does; `None` where there is none.
fn first_referee_value(text: &str) -> Result<Option<Yaml>, String> {
    let text = without_byte_order_mark(text);
    brackets::check(text)?;
    refuse_multiplying(text)?;
    let first = serde_yaml::Deserializer::from_str(text).next();
    first
        .map(Yaml::deserialize)
        .transpose()
        .map_err(|error| format!("is refused by the second parser: {error}"))
}

/// Returns why libyaml refuses the first document of a text, whatever follows that. A text with too many brackets is not
/// given to it, and counts as refused.
#[must_use]
pub fn first_document_error(text: &str) -> Option<String> {
    let text = without_byte_order_mark(text);
    if let Err(reason) = brackets::check(text) {
        return Some(reason);
    }
    let first = serde_yaml::Deserializer::from_str(text).next()?;
    let error = IgnoredAny::deserialize(first).err()?.to_string();
    // A limit of the parser around libyaml.
    (!error.contains("recursion limit")).then_some(error)
}

/// Returns the number of the line, from 1, with a tab for which libyaml refuses the first document of a text.
#[must_use]
pub(super) fn tab_line(text: &str) -> Option<usize> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    // A text with too many brackets is not given to it.
    brackets::check(text).ok()?;
    let first = serde_yaml::Deserializer::from_str(text).next()?;
    let error = IgnoredAny::deserialize(first).err()?;
    let message = error.to_string();
    let is_tab = ["cannot start any token", "found a tab character"]
        .iter()
        .any(|part| message.contains(part));
    error.location().filter(|_| is_tab).map(|at| at.line())
}

/// Returns the keys that libyaml reads from the first document of a text, as far as they are strings; `None` where that
/// is a list or a single value. Values are not built, so aliases do not multiply. A text with too many brackets
/// ([`has_too_many_brackets`]) is not read, and has no keys.
#[must_use]
pub fn first_document_keys(text: &str) -> Option<Vec<String>> {
    if has_too_many_brackets(text) {
        return Some(Vec::new());
    }
    let text = without_byte_order_mark(text);
    let first = serde_yaml::Deserializer::from_str(text).next();
    match first.map(Outline::deserialize) {
        Some(Ok(Outline::Mapping(keys))) => Some(keys),
        Some(Ok(Outline::Text(_) | Outline::Other)) => None,
        None | Some(Ok(Outline::Null) | Err(_)) => Some(Vec::new()),
    }
}

/// Refuses a text whose aliases stand for too many values, before memory is taken for them.
fn refuse_multiplying(text: &str) -> Result<(), String> {
    let fits = alias_weight::fits(text, text.len().saturating_add(REPEATED));
    fits.then_some(())
        .ok_or_else(|| "has aliases that stand for too many values".to_owned())
}

/// Reads a document with the independent parser.
fn referee_value(text: &str) -> Result<Yaml, String> {
    let text = without_byte_order_mark(text);
    refuse_multiplying(text)?;
    let mut value: Yaml = serde_yaml::from_str(text)
        .map_err(|error| format!("is refused by the second parser: {error}"))?;
    merge(&mut value);
    Ok(value)
}

/// Applies merge keys from the inside out; keys of a mapping's own win, then earlier bases.
fn merge(value: &mut Yaml) {
    match value {
        Yaml::Sequence(items) => items.iter_mut().for_each(merge),
        Yaml::Tagged(tagged) => merge(&mut tagged.value),
        Yaml::Mapping(mapping) => {
            mapping.values_mut().for_each(merge);
            let bases = match mapping.get("<<") {
                Some(Yaml::Mapping(base)) => vec![base.clone()],
                Some(Yaml::Sequence(items)) if items.iter().all(Yaml::is_mapping) => {
                    items.iter().filter_map(Yaml::as_mapping).cloned().collect()
                }
                _ => return,
            };
            mapping.remove("<<");
            for (key, value) in bases.into_iter().flatten() {
                mapping.entry(key).or_insert(value);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests;
