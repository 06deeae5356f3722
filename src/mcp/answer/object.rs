//! The name of an object.

use serde::Deserialize;

use super::super::clean::clean;

/// An object of a report.
#[derive(Debug, Deserialize)]
pub(in crate::mcp) struct Object {
    kind: String,
    namespace: Option<String>,
    name: String,
}

impl Object {
    /// Returns `namespace/Kind/name`.
    pub(super) fn name(&self) -> String {
        let Self {
            kind,
            namespace,
            name,
        } = self;
        clean(&match namespace {
            Some(namespace) => format!("{namespace}/{kind}/{name}"),
            None => format!("{kind}/{name}"),
        })
    }

    /// Returns whether the name, or `namespace/Kind/name`, contains a text.
    pub(super) fn matches(&self, text: &str) -> bool {
        self.name().contains(text)
    }
}
