//! One source of Helm values, and the positions of its values.

use std::sync::Arc;

use meshprobe_yaml::{Entry, NodeRef, Span, SyntaxError, Tree, parse_embedded};

use super::bindings::Bindings;
use super::found::{Found, Place, Typing};
use crate::finding::Label;
use crate::kube::Object;
use crate::mesh::Reason;

/// One source of values.
#[derive(Clone, Debug)]
pub(super) struct Layer<'t> {
    /// The keys under which the node is mounted; empty for a whole values file.
    pub(super) at: Vec<String>,
    pub(super) node: NodeRef<'t>,
    place: Place,
    typing: Typing,
}

impl<'t> Layer<'t> {
    /// Returns a layer of values that are written in `path`.
    pub(super) fn file(node: NodeRef<'t>, path: &Arc<str>) -> Self {
        Self {
            at: Vec::new(),
            node,
            place: Place::File(Arc::clone(path)),
            typing: Typing::Yaml,
        }
    }

    /// Returns a layer of values from a text inside another document; `None` if the text is empty.
    pub(super) fn embedded(text: &'t Embedded) -> Option<Self> {
        Some(Self {
            at: Vec::new(),
            node: text.tree.as_ref()?.root()?,
            place: Place::Line(text.line.clone()),
            typing: Typing::Yaml,
        })
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
    pub(super) fn found(&self, node: NodeRef<'t>, bindings: &Bindings) -> Found<'t> {
        Found {
            node,
            text: node.text().map(|text| bindings.fill(text)),
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
