//! Changes made to values, and the first difference between two values.

use serde_yaml::{Mapping, Value as Yaml};

use super::scalar_value;
use crate::yaml::change::{Change, Value};
use crate::yaml::route::{Route, Step};
use crate::yaml::tree::{NodeRef, Style};

/// Compares `old`, with the changes made, with `new`; `root` is the edited document as our parser
/// sees it.
pub(super) fn compare(
    old: Yaml,
    changes: &[Change],
    new: &Yaml,
    root: Option<NodeRef<'_>>,
) -> Result<(), String> {
    let mut expected = old;
    let removals = |change: &&Change| matches!(change, Change::Remove { .. });
    for change in changes.iter().filter(|change| !removals(change)) {
        make(&mut expected, change)?;
    }
    // Routes count items as they were: the last goes first.
    let mut removed: Vec<&Route> = changes.iter().filter(removals).map(Change::route).collect();
    removed.sort_unstable();
    removed.dedup();
    for route in removed.into_iter().rev() {
        remove(&mut expected, route)?;
    }
    match difference(&expected, new, &Route::root(), root) {
        Some(words) => Err(words),
        None => Ok(()),
    }
}

fn make(value: &mut Yaml, change: &Change) -> Result<(), String> {
    match change {
        Change::Set { route, value: new } => *slot(value, route)? = written(new),
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
            entries.insert(Yaml::String(key.clone()), written(new));
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

fn written(value: &Value) -> Yaml {
    match value {
        Value::Null => Yaml::Null,
        Value::Bool(value) => Yaml::Bool(*value),
        Value::Int(value) => Yaml::Number((*value).into()),
        Value::Str(text) | Value::Block(text) => Yaml::String(text.clone()),
        Value::Map(entries) => {
            let entries = entries.iter();
            let entries = entries.map(|(key, value)| (Yaml::String(key.clone()), written(value)));
            Yaml::Mapping(entries.collect())
        }
        Value::Seq(items) => Yaml::Sequence(items.iter().map(written).collect()),
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
fn difference(
    expected: &Yaml,
    found: &Yaml,
    route: &Route,
    root: Option<NodeRef<'_>>,
) -> Option<String> {
    match (expected, found) {
        _ if expected == found => None,
        (Yaml::Mapping(expected), Yaml::Mapping(found)) => {
            let step = |key: &Yaml| match key {
                Yaml::String(key) => route.child(key.clone()),
                other => route.child(one_line(other)),
            };
            let changed = expected.iter().find_map(|(key, value)| {
                let found = found_key(found, &key_words(key)).and_then(|key| found.get(&key));
                match found {
                    Some(found) => difference(value, found, &step(key), root),
                    None => Some(format!("`{}` would be lost", step(key))),
                }
            });
            changed.or_else(|| {
                let is_extra = |key: &&Yaml| found_key(expected, &key_words(key)).is_none();
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
        _ if root.is_some_and(|root| is_dialect(root, route, expected, found)) => None,
        _ => Some(format!(
            "`{route}` would be {} instead of {}",
            one_line(found),
            one_line(expected)
        )),
    }
}

/// Tells whether the two parsers agree on the text of a scalar, and only its type differs: what
/// Kubernetes tooling reads as the number 511 from `0777` is a string for YAML 1.2.
fn is_dialect(root: NodeRef<'_>, route: &Route, expected: &Yaml, found: &Yaml) -> bool {
    let (Some(node), Yaml::String(text)) = (root.at(route), found) else {
        return false;
    };
    node.resolved().style() == Style::Plain
        && node.text() == Some(text)
        && node.scalar().map(scalar_value).as_ref() == Some(expected)
}

/// Returns a key as text: two keys that look alike are one.
fn key_words(key: &Yaml) -> String {
    match key {
        Yaml::String(text) => text.clone(),
        other => one_line(other),
    }
}

/// Shows a value in a few words.
pub(super) fn one_line(value: &Yaml) -> String {
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
