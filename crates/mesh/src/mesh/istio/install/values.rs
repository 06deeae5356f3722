//! The Helm values of a chart: several layers, the strongest first.
//!
//! Helm merges maps key by key, replaces lists and scalars, and removes keys whose value is null
//! (Helm 3, `pkg/chartutil/coalesce.go`). This module does not merge: it looks up a value in one
//! layer after the other, so that the value keeps its position.

use std::borrow::Cow;

use crate::finding::Certainty;
use crate::mesh::{Fact, Reason};

use super::bindings::Bindings;
use super::found::{Found, Typing};
use super::layer::{Descent, Layer};

/// The values of one chart.
#[derive(Debug, Default)]
pub(super) struct Values<'t> {
    /// The layers, the strongest first.
    pub(super) layers: Vec<Layer<'t>>,
    /// The values of parameters.
    pub(super) bindings: Bindings,
}

impl<'t> Values<'t> {
    /// Finds the value at a path such as `global.proxy.statusPort`.
    pub(super) fn find(&self, path: &str) -> Option<Found<'t>> {
        let keys: Vec<&str> = path.split('.').collect();
        for layer in &self.layers {
            match layer.descend(&keys) {
                Descent::Absent => {}
                Descent::Null => return None,
                Descent::Node(node) => return Some(layer.found(node, &self.bindings)),
            }
        }
        None
    }

    /// Reads the value at `path` as a fact. A placeholder is an unknown value: `fallback` is used instead, and the
    /// fact is assumed; without a fallback there is no fact.
    pub(super) fn fact<T>(
        &self,
        path: &str,
        fallback: Option<T>,
        read: impl FnOnce(&Found<'_>) -> Option<T>,
    ) -> Option<Fact<T>> {
        let found = self.find(path)?;
        if found.is_placeholder() {
            let message = format!("`{path}` is a placeholder");
            return fallback.map(|value| Fact {
                value,
                certainty: Certainty::Assumed,
                because: vec![Reason::written(found.label(message))],
            });
        }
        let value = read(&found)?;
        let message = match found.string() {
            Some(text) => format!("`{path}` is {}", shown(text)),
            None => format!("`{path}` is set here"),
        };
        Some(Fact::known(value, found.label(message)))
    }

    /// Reads a boolean.
    pub(super) fn boolean(&self, path: &str, fallback: bool) -> Option<Fact<bool>> {
        self.fact(path, Some(fallback), |found| found.boolean())
    }

    /// Reads a port or another integer.
    pub(super) fn integer(&self, path: &str, fallback: i64) -> Option<Fact<i64>> {
        self.fact(path, Some(fallback), |found| found.integer())
    }

    /// Reads a string.
    pub(super) fn string(&self, path: &str, fallback: &str) -> Option<Fact<String>> {
        let fallback = Some(fallback.to_owned());
        self.fact(path, fallback, |found| found.string().map(str::to_owned))
    }

    /// Returns the items of a list: those of the strongest layer that has one, with single items
    /// replaced by `list[0]` parameters. `{a,b}` as the value of a parameter is a list, too.
    pub(super) fn list(&self, path: &str) -> Vec<Found<'t>> {
        let keys: Vec<&str> = path.split('.').collect();
        let found = self.find(path);
        let mut items = found.map_or_else(Vec::new, |found| list_items(&found, &self.bindings));
        for layer in self.layers.iter().rev() {
            let Some((index, mount)) = layer.at.split_last() else {
                continue;
            };
            let index = index
                .strip_prefix('[')
                .and_then(|rest| rest.strip_suffix(']'));
            let Some(index) = index.and_then(|index| index.parse::<usize>().ok()) else {
                continue;
            };
            if !mount.iter().eq(keys.iter()) {
                continue;
            }
            let item = layer.found(layer.node, &self.bindings);
            match items.get_mut(index) {
                Some(old) => *old = item,
                None => items.push(item),
            }
        }
        items
    }

    /// Returns the keys of a map in all layers.
    pub(super) fn keys(&self, path: &str) -> Vec<Found<'t>> {
        let keys: Vec<&str> = path.split('.').collect();
        let mut all: Vec<Found<'t>> = Vec::new();
        for layer in &self.layers {
            let Descent::Node(map) = layer.descend(&keys) else {
                continue;
            };
            for entry in map.entries() {
                let key = layer.found(entry.key, &self.bindings);
                if all.iter().all(|known| known.text != key.text) {
                    all.push(key);
                }
            }
        }
        all
    }

    /// Returns the values of a subchart: those under its key, and the globals, of which
    /// those of the parent take precedence (Helm 3, `coalesceGlobals`).
    pub(super) fn under(&self, key: &str) -> Self {
        let globals = self
            .layers
            .iter()
            .filter_map(|layer| layer.below("global"))
            .map(|mut layer| {
                layer.at.insert(0, "global".to_owned());
                layer
            });
        let own = self.layers.iter().filter_map(|layer| layer.below(key));
        Self {
            layers: globals.chain(own).collect(),
            bindings: self.bindings.clone(),
        }
    }
}

fn list_items<'t>(found: &Found<'t>, bindings: &Bindings) -> Vec<Found<'t>> {
    if found.node.is_sequence() {
        return found
            .node
            .items()
            .map(|node| Found {
                node,
                text: node.text().map(|text| bindings.fill(text)),
                ..found.clone()
            })
            .collect();
    }
    let text = found.string().filter(|_| found.typing == Typing::Set);
    let inside = text
        .and_then(|text| text.strip_prefix('{'))
        .and_then(|rest| rest.strip_suffix('}'));
    inside
        .into_iter()
        .flat_map(|inside| inside.split(','))
        .map(|word| Found {
            text: Some(Cow::Owned(word.trim().to_owned())),
            ..found.clone()
        })
        .collect()
}

/// Shortens a value for a message.
fn shown(text: &str) -> String {
    match text.char_indices().nth(40) {
        _ if text.is_empty() => "empty".to_owned(),
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}
