//! The parts of an object that the changes to a pod do not touch.
//!
//! A rewrite of a base must only change its own fields in any overlay. Containers are found by name, because an overlay
//! may add containers before those of the base.

use meshprobe_mesh::kube::Object;
use meshprobe_yaml::{Change, FieldPath, Step, Value, from_node};
use serde_json::Value as Json;

use crate::rewrite::plan::PodRewrite;

/// One step into a value.
enum PathStep<'c> {
    Key(&'c str),
    Index(usize),
    /// The item of a list that has this `name`.
    Named(String),
}

/// Returns `object` without the fields that the changes of `pod` concern. `base` is the object of the file, for which
/// the changes were made. Returns `None` if the object cannot be read.
pub(super) fn remainder(object: &Object<'_>, base: &Object<'_>, pod: &PodRewrite) -> Option<Json> {
    let mut value: Json = from_node(object.node).ok()?;
    for change in &pod.changes {
        for path in paths(base, change) {
            remove(&mut value, &path);
        }
    }
    Some(value)
}

/// Returns the paths that a change concerns.
fn paths<'c>(base: &Object<'_>, change: &'c Change) -> Vec<Vec<PathStep<'c>>> {
    let own = parts(base, change.route());
    match change {
        Change::Set { .. } | Change::Remove { .. } => vec![own],
        Change::Replace { key, .. } => {
            let mut new = parts(base, change.route());
            new.pop();
            new.push(PathStep::Key(key));
            vec![own, new]
        }
        Change::Push { value, .. } => {
            let mut item = own;
            item.extend(name_of(value).map(PathStep::Named));
            vec![item]
        }
    }
}

fn name_of(value: &Value) -> Option<String> {
    let Value::Map(entries) = value else {
        return None;
    };
    let name = entries.iter().find(|(key, _)| key == "name")?;
    match &name.1 {
        Value::Str(name) => Some(name.clone()),
        _ => None,
    }
}

/// Returns the steps from the object to `route`; list items are identified by name if they have one.
fn parts<'c>(base: &Object<'_>, route: &'c FieldPath) -> Vec<PathStep<'c>> {
    let below = route.steps().strip_prefix(base.route.steps());
    let mut node = Some(base.node);
    let mut parts = Vec::new();
    for step in below.unwrap_or_default() {
        let next = node.and_then(|node| match step {
            Step::Key(key) => node.get(key),
            Step::Index(index) => node.items().nth(*index),
        });
        parts.push(match step {
            Step::Key(key) => PathStep::Key(key),
            Step::Index(index) => {
                let name = next.and_then(|item| item.get("name")?.text());
                name.map_or(PathStep::Index(*index), |name| {
                    PathStep::Named(name.to_owned())
                })
            }
        });
        node = next;
    }
    parts
}

/// Removes the value at the end of `path`, and the values that are empty without it.
fn remove(value: &mut Json, path: &[PathStep<'_>]) {
    let Some((part, rest)) = path.split_first() else {
        *value = Json::Null;
        return;
    };
    match (value, part) {
        (Json::Object(fields), PathStep::Key(key)) => {
            let Some(inner) = fields.get_mut(*key) else {
                return;
            };
            remove(inner, rest);
            if is_empty(inner) {
                fields.remove(*key);
            }
        }
        (Json::Array(items), part) => {
            let found = match part {
                PathStep::Index(index) => Some(*index),
                PathStep::Named(name) => items
                    .iter()
                    .position(|item| item.get("name").and_then(Json::as_str) == Some(name)),
                PathStep::Key(_) => None,
            };
            let Some((position, inner)) =
                found.and_then(|position| Some((position, items.get_mut(position)?)))
            else {
                return;
            };
            remove(inner, rest);
            if is_empty(inner) {
                items.remove(position);
            }
        }
        _ => {}
    }
}

fn is_empty(value: &Json) -> bool {
    match value {
        Json::Null => true,
        Json::Array(items) => items.is_empty(),
        Json::Object(fields) => fields.is_empty(),
        _ => false,
    }
}
