//! The referee: reads a document before and after its edits with a second, independent parser.
//!
//! That parser is of libyaml's line, as kubectl's is, and shares no code with ours. What it reads
//! before, with the intended changes made to the value, must be what it reads after.

use std::sync::Arc;

use serde_yaml::{Mapping, Value as Yaml};

use super::change::{Change, Value};
use super::de::from_node;
use super::parse::parse;
use super::route::{Route, Step};
use super::same::same;
use super::span::Span;
use super::tree::{Kind, NodeRef, Tree};

/// Nodes that aliases may repeat; more is an attack or a mistake.
const REPEATED: usize = 100_000;

/// Checks that `after`, the edited text of one document, is read as `before` with `changes` made.
///
/// # Errors
/// In words for the user: which of the two texts cannot be read, or the first field that differs.
pub fn verify(before: &str, changes: &[Change], after: &str) -> Result<(), String> {
    let tree = parsed(before).map_err(|reason| format!("the document {reason}"))?;
    check(&tree, changes, after)
}

/// Does what [`verify`] does, for a document that is parsed already.
pub(super) fn check(before: &Tree, changes: &[Change], after: &str) -> Result<(), String> {
    let changed = |reason: String| format!("the edited document {reason}");
    let text = before.segment().slice(before.text());
    let after_tree = parsed(after).map_err(changed)?;
    measure(before).map_err(|reason| format!("the document {reason}"))?;
    measure(&after_tree).map_err(changed)?;

    let old = own_value(before).map_err(|reason| format!("the document {reason}"))?;
    let new = own_value(&after_tree).map_err(changed)?;
    compare(before, old, changes, &new)?;

    let old = referee_value(text).map_err(|reason| format!("the document {reason}"))?;
    let new = referee_value(after).map_err(changed)?;
    compare(before, old, changes, &new)
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

/// Refuses what the other parser reads wrongly or at length: it takes the second of two anchors
/// with one name for another one, and repeats nodes as often as aliases say.
fn measure(tree: &Tree) -> Result<(), String> {
    let mut names = std::collections::HashSet::new();
    for anchor in &tree.anchors {
        let name = anchor.span.slice(tree.text());
        if !names.insert(name) {
            return Err(format!("defines the anchor `{name}` twice"));
        }
    }
    let mut budget = tree.len().saturating_add(REPEATED);
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

/// Reads a document as Kubernetes tooling does, through our own tree.
fn own_value(tree: &Tree) -> Result<Yaml, String> {
    let Some(root) = tree.root() else {
        return Err("is empty".to_owned());
    };
    from_node(root).map_err(|error| format!("cannot be read: {error}"))
}

/// Reads a document with the independent parser.
fn referee_value(text: &str) -> Result<Yaml, String> {
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

fn compare(tree: &Tree, old: Yaml, changes: &[Change], new: &Yaml) -> Result<(), String> {
    let mut expected = old.clone();
    let maker = Maker {
        root: tree.root(),
        old: &old,
    };
    let removals = |change: &&Change| matches!(change, Change::Remove { .. });
    for change in changes.iter().filter(|change| !removals(change)) {
        maker.make(&mut expected, change)?;
    }
    // Routes count items as they were: the last goes first.
    let mut removed: Vec<&Route> = changes.iter().filter(removals).map(Change::route).collect();
    removed.sort_unstable();
    removed.dedup();
    for route in removed.into_iter().rev() {
        remove(&mut expected, route)?;
    }
    match difference(&expected, new, &Route::root()) {
        Some(words) => Err(words),
        None => Ok(()),
    }
}

/// Makes changes to a value.
struct Maker<'t> {
    root: Option<NodeRef<'t>>,
    old: &'t Yaml,
}

impl Maker<'_> {
    fn make(&self, value: &mut Yaml, change: &Change) -> Result<(), String> {
        match change {
            Change::Set { route, value: new } => {
                let expected = self.expected(route, new);
                *slot(value, route)? = expected;
            }
            Change::Replace {
                route,
                key,
                value: new,
            } => {
                let Some((parent, Step::Key(old_key))) = route.split_last() else {
                    return Err(no_such(route));
                };
                let Yaml::Mapping(entries) = slot(value, &parent)? else {
                    return Err(no_such(route));
                };
                let Some(found) = found_key(entries, old_key) else {
                    // Made already.
                    let made = found_key(entries, key).is_some();
                    return if made { Ok(()) } else { Err(no_such(route)) };
                };
                entries.remove(&found);
                entries.insert(Yaml::String(key.clone()), self.expected(route, new));
            }
            Change::Push { route, value: new } => match slot(value, route)? {
                Yaml::Sequence(items) => items.push(written(new)),
                empty @ Yaml::Null => *empty = Yaml::Sequence(vec![written(new)]),
                _ => return Err(format!("`{route}` is no list")),
            },
            Change::Remove { .. } => {}
        }
        Ok(())
    }

    /// Returns what is expected at `route`; where the document says the same in other words
    /// (`0777` for 511), those words stay.
    fn expected(&self, route: &Route, value: &Value) -> Yaml {
        let node = self.root.and_then(|root| root.at(route));
        expected(node, found(self.old, route), value)
    }
}

fn expected(node: Option<NodeRef<'_>>, old: Option<&Yaml>, value: &Value) -> Yaml {
    if let (Some(node), Some(old)) = (node, old)
        && same(node, value)
    {
        return old.clone();
    }
    match value {
        Value::Map(entries) => entries
            .iter()
            .map(|(key, value)| {
                let below = Route::root().child(key.clone());
                let old = old.and_then(|old| found(old, &below));
                let node = node.and_then(|node| node.get(key));
                (Yaml::String(key.clone()), expected(node, old, value))
            })
            .collect::<Mapping>()
            .into(),
        Value::Seq(items) => items
            .iter()
            .enumerate()
            .map(|(index, value)| {
                let old = old.and_then(|old| found(old, &Route::root().child(index)));
                expected(node.and_then(|node| node.item(index)), old, value)
            })
            .collect::<Vec<_>>()
            .into(),
        _ => written(value),
    }
}

fn written(value: &Value) -> Yaml {
    match value {
        Value::Null => Yaml::Null,
        Value::Bool(value) => Yaml::Bool(*value),
        Value::Int(value) => Yaml::Number((*value).into()),
        Value::Str(text) | Value::Block(text) => Yaml::String(text.clone()),
        Value::Map(_) | Value::Seq(_) => expected(None, None, value),
    }
}

fn no_such(route: &Route) -> String {
    format!("there is no `{route}`")
}

/// Returns the key as it stands in the mapping: a string, or a number or boolean written so.
fn found_key(entries: &Mapping, key: &str) -> Option<Yaml> {
    if entries.contains_key(key) {
        return Some(Yaml::String(key.to_owned()));
    }
    let alike = entries.keys().find(|candidate| match candidate {
        Yaml::Bool(value) => value.to_string() == key,
        Yaml::Number(value) => value.to_string() == key,
        _ => false,
    });
    alike.cloned()
}

fn found<'v>(value: &'v Yaml, route: &Route) -> Option<&'v Yaml> {
    route
        .steps()
        .iter()
        .try_fold(value, |value, step| match (value, step) {
            (Yaml::Mapping(entries), Step::Key(key)) => entries.get(&found_key(entries, key)?),
            (Yaml::Sequence(items), Step::Index(index)) => items.get(*index),
            _ => None,
        })
}

/// Returns the place of a value; missing mappings on the way are made.
fn slot<'v>(value: &'v mut Yaml, route: &Route) -> Result<&'v mut Yaml, String> {
    let mut place = value;
    for step in route.steps() {
        if let (Yaml::Null, Step::Key(_)) = (&*place, step) {
            *place = Yaml::Mapping(Mapping::new());
        }
        place = match (place, step) {
            (Yaml::Mapping(entries), Step::Key(key)) => {
                let found = found_key(entries, key);
                let key = found.unwrap_or_else(|| Yaml::String(key.to_string()));
                entries.entry(key).or_insert(Yaml::Null)
            }
            (Yaml::Sequence(items), Step::Index(index)) => {
                items.get_mut(*index).ok_or_else(|| no_such(route))?
            }
            _ => return Err(no_such(route)),
        };
    }
    Ok(place)
}

fn remove(value: &mut Yaml, route: &Route) -> Result<(), String> {
    let Some((parent, step)) = route.split_last() else {
        return Err(no_such(route));
    };
    if found(value, route).is_none() {
        return Ok(());
    }
    match (slot(value, &parent)?, step) {
        (Yaml::Mapping(entries), Step::Key(key)) => {
            if let Some(found) = found_key(entries, key) {
                entries.remove(&found);
            }
        }
        (Yaml::Sequence(items), Step::Index(index)) if *index < items.len() => {
            items.remove(*index);
        }
        _ => {}
    }
    Ok(())
}

/// Describes the first field where two values differ.
fn difference(expected: &Yaml, found: &Yaml, route: &Route) -> Option<String> {
    match (expected, found) {
        _ if expected == found => None,
        (Yaml::Mapping(expected), Yaml::Mapping(found)) => {
            let step = |key: &Yaml| match key {
                Yaml::String(key) => route.child(key.clone()),
                other => route.child(one_line(other)),
            };
            let changed = expected
                .iter()
                .find_map(|(key, value)| match found.get(key) {
                    Some(found) => difference(value, found, &step(key)),
                    None => Some(format!("`{}` would be lost", step(key))),
                });
            changed.or_else(|| {
                let extra = found.keys().find(|key| !expected.contains_key(*key))?;
                Some(format!("`{}` would appear", step(extra)))
            })
        }
        (Yaml::Sequence(expected), Yaml::Sequence(found)) if expected.len() == found.len() => {
            let mut pairs = expected.iter().zip(found).enumerate();
            pairs.find_map(|(index, (expected, found))| {
                difference(expected, found, &route.child(index))
            })
        }
        (Yaml::Sequence(expected), Yaml::Sequence(found)) => Some(format!(
            "`{route}` would have {} items instead of {}",
            found.len(),
            expected.len()
        )),
        _ => Some(format!(
            "`{route}` would be {} instead of {}",
            one_line(found),
            one_line(expected)
        )),
    }
}

/// Shows a value in a few words.
fn one_line(value: &Yaml) -> String {
    match value {
        Yaml::Null => "null".to_owned(),
        Yaml::Bool(value) => value.to_string(),
        Yaml::Number(value) => value.to_string(),
        Yaml::String(text) if text.chars().count() <= 60 => format!("{text:?}"),
        Yaml::String(text) => format!("{:?}…", text.chars().take(60).collect::<String>()),
        Yaml::Sequence(_) => "a list".to_owned(),
        Yaml::Mapping(_) => "a mapping".to_owned(),
        Yaml::Tagged(_) => "a tagged value".to_owned(),
    }
}
