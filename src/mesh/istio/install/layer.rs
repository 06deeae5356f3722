//! One source of Helm values, and where its values are written.

use std::borrow::Cow;
use std::sync::Arc;

use crate::finding::Label;
use crate::mesh::Reason;
use crate::yaml::{NodeRef, Span, SyntaxError, Tree, parse_embedded};

use super::values::Found;

/// How the text of a scalar becomes a typed value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Typing {
    /// By the rules of YAML.
    Yaml,
    /// By those of `helm --set`: `true`, `false`, `null` and integers are not strings.
    Set,
    /// Always a string.
    Text,
}

/// Where the labels of a layer point.
#[derive(Clone, Debug)]
pub(super) enum Place {
    /// At the value, in this file.
    File(Arc<str>),
    /// At one line for all values: the layer is a text inside another document.
    Line(Label),
}

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
    /// Values that are written in `path`.
    pub(super) fn file(node: NodeRef<'t>, path: &Arc<str>) -> Self {
        Self {
            at: Vec::new(),
            node,
            place: Place::File(Arc::clone(path)),
            typing: Typing::Yaml,
        }
    }

    /// Values that are a text inside another document; `None` where the text holds nothing.
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

    /// Follows `path` from the mount on.
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

    /// Returns what the layer holds under `key`, as a layer of its own.
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
    /// Parses `text`; labels of its values will point at `line`.
    pub(super) fn parse(text: &str, line: Label) -> Result<Self, SyntaxError> {
        let text: Arc<str> = Arc::from(text);
        let whole = Span::new(0, text.len());
        let tree = parse_embedded(&text, whole)?;
        Ok(Self { tree, line })
    }

    /// Says at `line` that `text` does not parse, and where in it.
    pub(super) fn broken(text: &str, error: &SyntaxError, line: Label) -> Reason {
        let before = text.as_bytes().get(..error.offset).unwrap_or_default();
        let number = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        let message = format!("{NOT_YAML} in its line {number}: {}", error.message);
        Reason::written(Label { message, ..line })
    }
}

/// What is said of a text that does not parse.
pub(super) const NOT_YAML: &str = "the text of this key is not YAML";

/// What a layer says about a path.
pub(super) enum Descent<'t> {
    Absent,
    Null,
    Node(NodeRef<'t>),
}

/// Words that stand for others, as an ApplicationSet's generator binds them: `{{name}}`.
#[derive(Clone, Debug, Default)]
pub(super) struct Bindings(pub(super) Vec<(String, String)>);

impl Bindings {
    /// Returns `text` with every known parameter filled in.
    pub(super) fn fill<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if self.0.is_empty() || !text.contains("{{") {
            return Cow::Borrowed(text);
        }
        let mut filled = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, inside)) = rest.split_once("{{") {
            let Some((name, after)) = inside.split_once("}}") else {
                break;
            };
            let wanted = name.trim().trim_start_matches('.');
            filled.push_str(before);
            match self.0.iter().find(|(known, _)| known == wanted) {
                Some((_, value)) => filled.push_str(value),
                None => filled.extend(["{{", name, "}}"]),
            }
            rest = after;
        }
        filled.push_str(rest);
        Cow::Owned(filled)
    }
}

/// Takes a path of `helm --set` apart; an index becomes a step of its own, in brackets.
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
    fn paths_of_helm_set_are_taken_apart() {
        assert_eq!(set_path("pilot.cni.enabled"), ["pilot", "cni", "enabled"]);
        assert_eq!(set_path(r"a.b\.c/d"), ["a", "b.c/d"]);
        assert_eq!(set_path("revisionTags[0]"), ["revisionTags", "[0]"]);
    }

    #[test]
    fn parameters_of_a_generator_are_filled_in() {
        let bindings = Bindings(vec![("rev".into(), "1-26".into())]);
        assert_eq!(bindings.fill("istio-{{ rev }}-{{.rev}}"), "istio-1-26-1-26");
        assert_eq!(bindings.fill("{{other}} {{"), "{{other}} {{");
    }
}
