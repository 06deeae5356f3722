//! What of an object the changes to a pod leave alone.
//!
//! A rewrite of a base must not reach further than its own fields in any overlay. Containers are
//! found by their names, since an overlay may add some in front of those of the base.

use serde_json::Value as Json;

use crate::kube::Object;
use crate::yaml::{Change, Route, Step, Value, from_node};

use super::PodRewrite;

/// One step into a value.
enum Part<'c> {
    Key(&'c str),
    Index(usize),
    /// The item of a list that has this `name`.
    Named(String),
}

/// Returns `object` without what the changes of `pod` are about; `base` is the object of the file,
/// which they are made for. `None` where it cannot be read.
pub(super) fn remainder(object: &Object<'_>, base: &Object<'_>, pod: &PodRewrite) -> Option<Json> {
    let mut value: Json = from_node(object.node).ok()?;
    for change in &pod.changes {
        for path in paths(base, change) {
            take_out(&mut value, &path);
        }
    }
    Some(value)
}

/// Returns the places that a change is about.
fn paths<'c>(base: &Object<'_>, change: &'c Change) -> Vec<Vec<Part<'c>>> {
    let own = parts(base, change.route());
    match change {
        Change::Set { .. } | Change::Remove { .. } => vec![own],
        Change::Replace { key, .. } => {
            let mut new = parts(base, change.route());
            new.pop();
            new.push(Part::Key(key));
            vec![own, new]
        }
        Change::Push { value, .. } => {
            let mut item = own;
            item.extend(name_of(value).map(Part::Named));
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

/// Returns the steps from the object, items by their names where they have one.
fn parts<'c>(base: &Object<'_>, route: &'c Route) -> Vec<Part<'c>> {
    let below = route.steps().strip_prefix(base.route.steps());
    let mut node = Some(base.node);
    let mut parts = Vec::new();
    for step in below.unwrap_or_default() {
        let next = node.and_then(|node| match step {
            Step::Key(key) => node.get(key),
            Step::Index(index) => node.items().nth(*index),
        });
        parts.push(match step {
            Step::Key(key) => Part::Key(key),
            Step::Index(index) => {
                let name = next.and_then(|item| item.get("name")?.text());
                name.map_or(Part::Index(*index), |name| Part::Named(name.to_owned()))
            }
        });
        node = next;
    }
    parts
}

/// Takes out what lies at the end of `path`, and what is empty without it.
fn take_out(value: &mut Json, path: &[Part<'_>]) {
    let Some((part, rest)) = path.split_first() else {
        *value = Json::Null;
        return;
    };
    match (value, part) {
        (Json::Object(fields), Part::Key(key)) => {
            let Some(inner) = fields.get_mut(*key) else {
                return;
            };
            take_out(inner, rest);
            if is_empty(inner) {
                fields.remove(*key);
            }
        }
        (Json::Array(items), part) => {
            let found = match part {
                Part::Index(index) => Some(*index),
                Part::Named(name) => items
                    .iter()
                    .position(|item| item.get("name").and_then(Json::as_str) == Some(name)),
                Part::Key(_) => None,
            };
            let Some((at, inner)) = found.and_then(|at| Some((at, items.get_mut(at)?))) else {
                return;
            };
            take_out(inner, rest);
            if is_empty(inner) {
                items.remove(at);
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
