//! Helm values as they reach a chart: several layers, the strongest first.
//!
//! Helm merges maps key by key, replaces lists and scalars, and lets null take a key away
//! (Helm 3, `pkg/chartutil/coalesce.go`). Here nothing is merged: a value is looked up in one
//! layer after the other, so that it keeps the place it is written at.

use std::borrow::Cow;
use std::sync::Arc;

use crate::finding::{Certainty, Label};
use crate::mesh::{Fact, Reason};
use crate::source::placeholder;
use crate::yaml::{NodeRef, Scalar};

use super::layer::{Bindings, Descent, Layer, Place, Typing};

/// A value with its place.
#[derive(Clone, Debug)]
pub(super) struct Found<'t> {
    /// The node.
    pub(super) node: NodeRef<'t>,
    /// The text of a scalar, parameters filled in.
    pub(super) text: Option<Cow<'t, str>>,
    pub(super) place: Place,
    pub(super) typing: Typing,
}

impl<'t> Found<'t> {
    /// A node of a file, outside of any values.
    pub(super) fn of(node: NodeRef<'t>, path: &Arc<str>) -> Self {
        Self {
            node,
            text: node.text().map(Cow::Borrowed),
            place: Place::File(Arc::clone(path)),
            typing: Typing::Yaml,
        }
    }

    /// The same with parameters filled in.
    pub(super) fn filled(mut self, bindings: &Bindings) -> Self {
        self.text = self.node.text().map(|text| bindings.fill(text));
        self
    }

    /// The text of a scalar.
    pub(super) fn string(&self) -> Option<&str> {
        self.text.as_deref()
    }

    /// A boolean, also one that is written as a string.
    pub(super) fn boolean(&self) -> Option<bool> {
        match (self.typing, self.node.scalar()) {
            (Typing::Yaml, Some(Scalar::Bool(value))) => Some(value),
            _ => self.string()?.trim().parse().ok(),
        }
    }

    /// An integer, also one that is written as a string.
    pub(super) fn integer(&self) -> Option<i64> {
        match (self.typing, self.node.scalar()) {
            (Typing::Yaml, Some(Scalar::Int(value))) => Some(value),
            _ => self.string()?.trim().parse().ok(),
        }
    }

    /// Another tool fills the value in.
    pub(super) fn is_placeholder(&self) -> bool {
        self.string().is_some_and(placeholder::contains)
    }

    /// A label on the value.
    pub(super) fn label(&self, message: impl Into<String>) -> Label {
        match &self.place {
            Place::File(path) => Label {
                path: Arc::clone(path),
                span: self.node.span(),
                message: message.into(),
            },
            Place::Line(line) => Label {
                message: message.into(),
                ..line.clone()
            },
        }
    }
}

/// The values of one chart.
#[derive(Debug, Default)]
pub(super) struct Values<'t> {
    /// The strongest first.
    pub(super) layers: Vec<Layer<'t>>,
    /// What parameters stand for.
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

    /// Reads the value at `path` as a fact. A placeholder is an unknown value: it is taken as
    /// `fallback`, and said to be assumed; without fallback there is no fact.
    pub(super) fn fact<T>(
        &self,
        path: &str,
        fallback: Option<T>,
        read: impl FnOnce(&Found<'_>) -> Option<T>,
    ) -> Option<Fact<T>> {
        let found = self.find(path)?;
        if found.is_placeholder() {
            let said = format!("`{path}` is a placeholder that another tool fills in");
            return fallback.map(|value| Fact {
                value,
                certainty: Certainty::Assumed,
                because: vec![Reason::written(found.label(said))],
            });
        }
        let value = read(&found)?;
        let said = match found.string() {
            Some(text) => format!("`{path}` is {}", shown(text)),
            None => format!("`{path}` is set here"),
        };
        Some(Fact::known(value, found.label(said)))
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
    /// replaced by `list[0]` parameters; `{a,b}` of a parameter is a list too.
    pub(super) fn list(&self, path: &str) -> Vec<Found<'t>> {
        let keys: Vec<&str> = path.split('.').collect();
        let found = self.find(path);
        let mut items = found.map_or_else(Vec::new, |found| list_items(&found, &self.bindings));
        for layer in self.layers.iter().rev() {
            let Some((index, at)) = layer.at.split_last() else {
                continue;
            };
            let index = index
                .strip_prefix('[')
                .and_then(|rest| rest.strip_suffix(']'));
            let Some(index) = index.and_then(|index| index.parse::<usize>().ok()) else {
                continue;
            };
            if !at.iter().eq(keys.iter()) {
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

    /// Returns the keys of a map, those of all layers together.
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

    /// Returns the values of a subchart: what stands under its key, and the globals, of which
    /// those of the parent win (Helm 3, `coalesceGlobals`).
    pub(super) fn under(&self, key: &str) -> Self {
        let globals = self.layers.iter().filter_map(|layer| layer.below("global"));
        let globals = globals.map(|mut layer| {
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
        let items = found.node.items();
        return items
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
    let words = inside.into_iter().flat_map(|inside| inside.split(','));
    words
        .map(|word| Found {
            text: Some(Cow::Owned(word.trim().to_owned())),
            ..found.clone()
        })
        .collect()
}

/// A value for a message: whole if it is short.
fn shown(text: &str) -> String {
    match text.char_indices().nth(40) {
        _ if text.is_empty() => "empty".to_owned(),
        Some((at, _)) => format!("{}…", text.get(..at).unwrap_or_default()),
        None => text.to_owned(),
    }
}
