//! A Helm value with its position.

use std::borrow::Cow;
use std::sync::Arc;

use meshprobe_tree::source::placeholder;
use meshprobe_yaml::{NodeRef, Scalar, Span};

use super::bindings::Bindings;
use crate::finding::Label;

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
pub(super) enum Place {
    /// The value, in this file.
    File(Arc<str>),
    /// One line for all values: the layer is a text inside another document.
    Line(Label),
}

/// A value with its position.
#[derive(Clone, Debug)]
pub(super) struct Found<'t> {
    /// The node.
    pub(super) node: NodeRef<'t>,
    /// The text of a scalar, with parameters filled in.
    pub(super) text: Option<Cow<'t, str>>,
    pub(super) place: Place,
    pub(super) typing: Typing,
}

impl<'t> Found<'t> {
    /// Returns a node of a file outside of values.
    pub(super) fn of(node: NodeRef<'t>, path: &Arc<str>) -> Self {
        Self {
            node,
            text: node.text().map(Cow::Borrowed),
            place: Place::File(Arc::clone(path)),
            typing: Typing::Yaml,
        }
    }

    /// Returns the value with parameters filled in.
    pub(super) fn filled(mut self, bindings: &Bindings) -> Self {
        self.text = self.node.text().map(|text| bindings.fill(text));
        self
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
        let label = self.label(message);
        match self.place {
            Place::File(_) => Label { span, ..label },
            Place::Line(_) => label,
        }
    }

    /// Returns a label on the value.
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
