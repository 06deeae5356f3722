//! The Helm values of a chart: several layers, the strongest first.
//!
//! Helm merges maps key by key, replaces lists and scalars, and removes keys whose value is null
//! (Helm 3, `pkg/chartutil/coalesce.go`). This module does not merge: it looks up a value in one
//! layer after the other, so that the value keeps its position.

use std::borrow::Cow;
use std::sync::Arc;

use meshprobe_tree::source::placeholder;
use meshprobe_yaml::{Entry, NodeRef, Scalar, Span, SyntaxError, Tree, parse_embedded};

use crate::finding::{Certainty, Label};
use crate::kube::Object;
use crate::mesh::{Fact, Reason};

/// The values of one chart.
#[derive(Debug, Default)]
pub(super) struct Values<'t> {
    /// The layers, the strongest first.
    pub(super) layers: Vec<Layer<'t>>,
}

impl<'t> Values<'t> {
    /// Finds the value at a path such as `global.proxy.statusPort`.
    pub(super) fn find(&self, path: &str) -> Option<Found<'t>> {
        let keys: Vec<&str> = path.split('.').collect();
        for layer in &self.layers {
            match layer.descend(&keys) {
                Descent::Absent => {}
                Descent::Null => return None,
                Descent::Node(node) => return Some(layer.found(node)),
            }
        }
        None
    }

    /// Reads the value at `path` as a fact. A placeholder is an unknown value: `fallback` is used instead, and the
    /// fact is assumed. Returns `None` for a placeholder without a fallback.
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
        let mut items = found.map_or_else(Vec::new, |found| list_items(&found));
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
            let item = layer.found(layer.node);
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
                let key = layer.found(entry.key);
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
        }
    }
}

fn list_items<'t>(found: &Found<'t>) -> Vec<Found<'t>> {
    if found.node.is_sequence() {
        return found
            .node
            .items()
            .map(|node| Found {
                node,
                text: node.text().map(Cow::Borrowed),
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

/// How the text of a scalar is converted to a typed value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Typing {
    /// By the YAML rules.
    Yaml,
    /// By the rules of `helm --set`: `true`, `false`, `null` and integers are not strings.
    Set,
    /// Always a string.
    Text,
}

/// The positions that the labels of a layer point to.
#[derive(Clone, Debug)]
pub enum Place<'t> {
    /// The value, in this file.
    File(&'t Arc<str>),
    /// The value of a rendered object, in the file from which it comes.
    Rendered(&'t Tree),
    /// One line for all values: the layer is a text inside another document.
    Line(Label),
}

/// A value with its position.
#[derive(Clone, Debug)]
pub(super) struct Found<'t> {
    /// The node.
    pub(super) node: NodeRef<'t>,
    /// The text of a scalar.
    pub(super) text: Option<Cow<'t, str>>,
    pub(super) place: Place<'t>,
    pub(super) typing: Typing,
}

impl<'t> Found<'t> {
    /// Returns a node of a file outside of values.
    pub(super) fn of(node: NodeRef<'t>, path: &'t Arc<str>) -> Self {
        Layer::file(node, path).found(node)
    }

    /// Returns the text of a scalar.
    pub(super) fn string(&self) -> Option<&str> {
        self.text.as_deref()
    }

    /// Returns a boolean, which may be written as a string.
    pub(super) fn boolean(&self) -> Option<bool> {
        match (self.typing, self.node.scalar()) {
            (Typing::Yaml, Some(Scalar::Bool(value))) => Some(value),
            _ => self.string()?.trim().parse().ok(),
        }
    }

    /// Returns an integer, which may be written as a string.
    pub(super) fn integer(&self) -> Option<i64> {
        match (self.typing, self.node.scalar()) {
            (Typing::Yaml, Some(Scalar::Int(value))) => Some(value),
            _ => self.string()?.trim().parse().ok(),
        }
    }

    /// Returns whether another tool fills in the value. Without quotes, YAML reads `{{ name }}` as a mapping.
    pub(super) fn is_placeholder(&self) -> bool {
        match self.string() {
            Some(text) => placeholder::contains(text),
            None => self.node.source().starts_with("{{"),
        }
    }

    /// Returns a label on a part of the value.
    pub(super) fn label_within(&self, span: Span, message: impl Into<String>) -> Label {
        self.place.label(span, message)
    }

    /// Returns a label on the value.
    pub(super) fn label(&self, message: impl Into<String>) -> Label {
        self.place.label(self.node.span(), message)
    }
}

impl<'t> Place<'t> {
    /// Returns the places of the values in an object.
    #[must_use]
    pub fn of(object: &Object<'t>) -> Self {
        match object.node.tree() {
            tree if tree.is_composed() => Self::Rendered(tree),
            _ => Self::File(object.path()),
        }
    }

    /// Returns a label on a value.
    pub fn label(&self, span: Span, message: impl Into<String>) -> Label {
        let (path, span) = match self {
            Self::File(path) => (Arc::clone(path), span),
            Self::Rendered(tree) => tree.source_location(span, &Arc::from("")),
            Self::Line(line) => (Arc::clone(&line.path), line.span),
        };
        Label {
            path,
            span,
            message: message.into(),
        }
    }
}

/// One source of values.
#[derive(Clone, Debug)]
pub(super) struct Layer<'t> {
    /// The keys under which the node is mounted; empty for a whole values file.
    pub(super) at: Vec<String>,
    pub(super) node: NodeRef<'t>,
    place: Place<'t>,
    typing: Typing,
}

impl<'t> Layer<'t> {
    /// Returns a layer of values that are written in `path`.
    pub(super) fn file(node: NodeRef<'t>, path: &'t Arc<str>) -> Self {
        Self::at(node, Place::File(path))
    }

    /// Returns a layer of values at a place.
    pub(super) const fn at(node: NodeRef<'t>, place: Place<'t>) -> Self {
        Self {
            at: Vec::new(),
            node,
            place,
            typing: Typing::Yaml,
        }
    }

    /// Returns a layer of values from a text inside another document; `None` if the text is empty.
    pub(super) fn embedded(text: &'t Embedded) -> Option<Self> {
        let node = text.tree.as_ref()?.root()?;
        Some(Self::at(node, Place::Line(text.line.clone())))
    }

    /// Mounts the layer under keys.
    pub(super) fn mounted(mut self, at: &[&str]) -> Self {
        self.at = at.iter().map(|&key| key.to_owned()).collect();
        self
    }

    /// Mounts a single value as `helm --set` and `targetPath` do: `a.b\.c[0]`.
    pub(super) fn set(mut self, path: &str, typing: Typing) -> Self {
        self.at = set_path(path);
        self.typing = typing;
        self
    }

    /// Returns a node of the layer as a value.
    pub(super) fn found(&self, node: NodeRef<'t>) -> Found<'t> {
        Found {
            node,
            text: node.text().map(Cow::Borrowed),
            place: self.place.clone(),
            typing: self.typing,
        }
    }

    /// Follows `path` from the mount point.
    pub(super) fn descend(&self, path: &[&str]) -> Descent<'t> {
        let mut keys = path.iter();
        if !self.at.iter().all(|key| keys.next() == Some(&key.as_str())) {
            return Descent::Absent;
        }
        let mut node = self.node;
        for key in keys {
            if node.is_null() {
                return Descent::Null;
            }
            let Some(next) = node.get(key) else {
                return Descent::Absent;
            };
            node = next;
        }
        if node.is_null() {
            Descent::Null
        } else {
            Descent::Node(node)
        }
    }

    /// Returns the content of the layer under `key` as a separate layer.
    pub(super) fn below(&self, key: &str) -> Option<Self> {
        let (at, node) = match self.at.split_first() {
            Some((first, rest)) => (rest.to_vec(), (first == key).then_some(self.node)?),
            None => (Vec::new(), self.node.get(key)?),
        };
        Some(Self {
            at,
            node,
            ..self.clone()
        })
    }
}

/// A YAML or JSON text inside another document.
#[derive(Debug)]
pub(super) struct Embedded {
    /// `None` for a text without content.
    tree: Option<Tree>,
    line: Label,
}

impl Embedded {
    /// Parses `text`; the labels of its values point to `line`.
    pub(super) fn parse(text: &str, line: Label) -> Result<Self, SyntaxError> {
        let text: Arc<str> = Arc::from(text);
        let whole = Span::new(0, text.len());
        let tree = parse_embedded(&text, whole)?;
        Ok(Self { tree, line })
    }

    /// Parses the text of a key, or records in `unread` why it cannot. The labels of its values point to the key.
    pub(super) fn of(
        object: &Object<'_>,
        entry: Entry<'_>,
        unread: &mut Vec<Reason>,
    ) -> Option<Self> {
        let line = object.label_at(entry.key.span(), "");
        let text = entry.value.text()?;
        let parsed = Self::parse(text, line.clone());
        parsed
            .map_err(|error| unread.push(Self::broken(text, &error, line)))
            .ok()
    }

    /// Returns a text that is one value and not a document.
    pub(super) fn value(text: &str, line: Label) -> Option<Self> {
        Self::parse(&serde_json::to_string(text).ok()?, line).ok()
    }

    /// Returns a reason at `line` that `text` cannot be parsed, with the position of the error.
    pub(super) fn broken(text: &str, error: &SyntaxError, line: Label) -> Reason {
        let before = text.as_bytes().get(..error.offset).unwrap_or_default();
        let number = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        let message = format!("{NOT_YAML} (line {number} of the text): {}", error.message);
        Reason::written(Label { message, ..line })
    }
}

/// The message for a text that cannot be parsed.
pub(super) const NOT_YAML: &str = "the text of this key is not YAML";

/// The result of following a path in a layer.
pub(super) enum Descent<'t> {
    Absent,
    Null,
    Node(NodeRef<'t>),
}

/// Splits a path of `helm --set`; an index becomes a separate step, in brackets.
fn set_path(path: &str) -> Vec<String> {
    let mut steps = vec![String::new()];
    let mut chars = path.chars();
    while let Some(c) = chars.next() {
        match c {
            '.' => steps.push(String::new()),
            '[' => steps.push("[".to_owned()),
            _ => {
                let c = if c == '\\' {
                    chars.next().unwrap_or(c)
                } else {
                    c
                };
                if let Some(step) = steps.last_mut() {
                    step.push(c);
                }
            }
        }
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_helm_set_are_split() {
        assert_eq!(set_path("pilot.cni.enabled"), ["pilot", "cni", "enabled"]);
        assert_eq!(set_path(r"a.b\.c/d"), ["a", "b.c/d"]);
        assert_eq!(set_path("revisionTags[0]"), ["revisionTags", "[0]"]);
    }
}
