//! Application of changes to values, and the first difference between two values.

use std::cell::Cell;

use serde_yaml::{Mapping, Value as Yaml};

use super::{DEPTH, REPEATED};
use crate::change::Change;
use crate::field_path::{FieldPath, Step};
use crate::merge::effective_entries;
use crate::scalar::Scalar;
use crate::tree::{Kind, NodeRef, Style, Tree};

/// Compares `old`, with `changes` applied, with `new`. `root` is the root of the edited document in our
/// tree.
///
/// # Errors
/// The first difference, or the first change that does not fit, as a message for the user.
pub(super) fn compare(
    old: Yaml,
    changes: &[Change],
    new: &Yaml,
    root: Option<NodeRef<'_>>,
) -> Result<(), String> {
    let mut expected = old;
    let is_removal = |change: &&Change| matches!(change, Change::Remove { .. });
    for change in changes.iter().filter(|change| !is_removal(change)) {
        apply(&mut expected, change)?;
    }
    // Routes refer to the indices before any removal, so the last item is removed first.
    let mut removed: Vec<&FieldPath> = changes
        .iter()
        .filter(is_removal)
        .map(Change::route)
        .collect();
    removed.sort_unstable();
    removed.dedup();
    for route in removed.into_iter().rev() {
        remove(&mut expected, route)?;
    }
    match difference(&expected, new, &FieldPath::root(), root) {
        Some(difference) => Err(difference),
        None => Ok(()),
    }
}

/// Applies a change other than a removal.
fn apply(value: &mut Yaml, change: &Change) -> Result<(), String> {
    match change {
        Change::Set { route, value: new } => *slot(value, route)? = new.to_yaml(),
        Change::Replace {
            route,
            key,
            value: new,
        } => {
            let Some((parent, Step::Key(old_key))) = route.split_last() else {
                return Err(missing(route));
            };
            let Yaml::Mapping(entries) = slot(value, &parent)? else {
                return Err(missing(route));
            };
            let Some(found) = found_key(entries, old_key) else {
                // The change may be applied already.
                let is_applied = found_key(entries, key).is_some();
                return if is_applied {
                    Ok(())
                } else {
                    Err(missing(route))
                };
            };
            entries.remove(&found);
            entries.insert(Yaml::String(key.clone()), new.to_yaml());
        }
        Change::Push { route, value: new } => match slot(value, route)? {
            Yaml::Sequence(items) => items.push(new.to_yaml()),
            empty @ Yaml::Null => *empty = Yaml::Sequence(vec![new.to_yaml()]),
            _ => return Err(format!("`{route}` is not a list")),
        },
        Change::Remove { .. } => {}
    }
    Ok(())
}

fn missing(route: &FieldPath) -> String {
    format!("`{route}` does not exist")
}

/// Returns the key of a mapping that is written as `key`: a string, a number or a boolean.
fn found_key(entries: &Mapping, key: &str) -> Option<Yaml> {
    if entries.contains_key(key) {
        return Some(Yaml::String(key.to_owned()));
    }
    entries
        .keys()
        .find(|candidate| match candidate {
            Yaml::Bool(value) => value.to_string() == key,
            Yaml::Number(value) => value.to_string() == key,
            _ => false,
        })
        .cloned()
}

fn found<'v>(value: &'v Yaml, route: &FieldPath) -> Option<&'v Yaml> {
    route
        .steps()
        .iter()
        .try_fold(value, |value, step| match (value, step) {
            (Yaml::Mapping(entries), Step::Key(key)) => entries.get(&found_key(entries, key)?),
            (Yaml::Sequence(items), Step::Index(index)) => items.get(*index),
            _ => None,
        })
}

/// Returns the value at `route`; creates missing parent mappings.
fn slot<'v>(value: &'v mut Yaml, route: &FieldPath) -> Result<&'v mut Yaml, String> {
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
                items.get_mut(*index).ok_or_else(|| missing(route))?
            }
            _ => return Err(missing(route)),
        };
    }
    Ok(place)
}

fn remove(value: &mut Yaml, route: &FieldPath) -> Result<(), String> {
    let Some((parent, step)) = route.split_last() else {
        return Err(missing(route));
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

/// Describes the first field in which two values differ; `None` if they are equal.
fn difference(
    expected: &Yaml,
    found: &Yaml,
    route: &FieldPath,
    root: Option<NodeRef<'_>>,
) -> Option<String> {
    match (expected, found) {
        _ if expected == found => None,
        (Yaml::Mapping(expected), Yaml::Mapping(found)) => {
            let step = |key: &Yaml| match key {
                Yaml::String(key) => route.child(key.clone()),
                other => route.child(describe_value(other)),
            };
            let changed = expected.iter().find_map(|(key, value)| {
                let found = found_key(found, &key_label(key)).and_then(|key| found.get(&key));
                match found {
                    Some(found) => difference(value, found, &step(key), root),
                    None => Some(format!("`{}` would be lost", step(key))),
                }
            });
            changed.or_else(|| {
                let is_extra = |key: &&Yaml| found_key(expected, &key_label(key)).is_none();
                let extra = found.keys().find(is_extra)?;
                Some(format!("`{}` would appear", step(extra)))
            })
        }
        (Yaml::Sequence(expected), Yaml::Sequence(found)) if expected.len() == found.len() => {
            let mut pairs = expected.iter().zip(found).enumerate();
            pairs.find_map(|(index, (expected, found))| {
                difference(expected, found, &route.child(index), root)
            })
        }
        (Yaml::Sequence(expected), Yaml::Sequence(found)) => Some(format!(
            "`{route}` would have {} items instead of {}",
            found.len(),
            expected.len()
        )),
        _ if root.is_some_and(|root| differs_by_dialect(root, route, expected, found)) => None,
        _ => Some(format!(
            "`{route}` would be {} instead of {}",
            describe_value(found),
            describe_value(expected)
        )),
    }
}

/// Returns whether the two parsers read the same text from a scalar and only its type differs: `0777` is the number 511
/// for Kubernetes tooling and a string in YAML 1.2.
fn differs_by_dialect(root: NodeRef<'_>, route: &FieldPath, expected: &Yaml, found: &Yaml) -> bool {
    let (Some(node), Yaml::String(text)) = (root.at(route), found) else {
        return false;
    };
    node.resolved().style() == Style::Plain
        && node.text() == Some(text)
        && node.scalar().map(scalar_value).as_ref() == Some(expected)
}

/// Returns a key as text. Keys with the same text are treated as equal.
fn key_label(key: &Yaml) -> String {
    match key {
        Yaml::String(text) => text.clone(),
        other => describe_value(other),
    }
}

/// Describes a value on one line, for a message.
pub(super) fn describe_value(value: &Yaml) -> String {
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

/// Rejects documents whose aliases repeat too many nodes, because the referee copies the target of each alias.
pub(super) fn check_expansion(tree: &Tree) -> Result<(), String> {
    let mut budget = tree.node_count().saturating_add(REPEATED);
    let mut stack: Vec<NodeRef<'_>> = tree.root().into_iter().collect();
    while let Some(node) = stack.pop() {
        budget = budget
            .checked_sub(1)
            .ok_or_else(|| "repeats too many nodes through aliases".to_owned())?;
        let node = node.resolved();
        stack.extend(node.items());
        stack.extend(node.entries().map(|entry| entry.value));
        stack.extend(
            node.entries()
                .map(|entry| entry.key)
                .filter(|key| key.kind() != Kind::Scalar),
        );
    }
    Ok(())
}

/// Returns the value of a document by the rules of Kubernetes tooling, from our tree. Keys are not converted.
pub(super) fn own_value(tree: &Tree) -> Result<Yaml, String> {
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
            .ok_or("has a key that is a mapping or a list")?;
        let value = node_value(entry.value, depth, budget)?;
        Ok::<_, String>((Yaml::String(key.to_owned()), value))
    });
    Ok(Yaml::Mapping(entries.collect::<Result<_, _>>()?))
}

/// Returns the value of a scalar.
pub(super) fn scalar_value(scalar: Scalar<'_>) -> Yaml {
    match scalar {
        Scalar::Null => Yaml::Null,
        Scalar::Bool(value) => Yaml::Bool(value),
        Scalar::Int(value) => Yaml::Number(value.into()),
        Scalar::UInt(value) => Yaml::Number(value.into()),
        Scalar::Float(value) => Yaml::Number(value.into()),
        Scalar::Str(text) => Yaml::String(text.to_owned()),
    }
}
