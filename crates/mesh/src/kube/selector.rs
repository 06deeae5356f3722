//! Label selectors with `matchLabels` only.

use hashbrown::HashMap;
use meshprobe_yaml::{Entry, NodeRef};

/// Up to this number, labels are looked up one by one, without an index.
const FEW: usize = 8;

/// Labels that a selector requires.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct LabelSelector<'t> {
    labels: Vec<(&'t str, &'t str)>,
}

impl<'t> LabelSelector<'t> {
    /// Parses a mapping of label names to values in an object of Kubernetes itself; anything else has no requirements.
    #[must_use]
    pub fn from_mapping(node: Option<NodeRef<'t>>) -> Self {
        let entries = node.into_iter().flat_map(NodeRef::effective_entries);
        let pair = |entry: Entry<'t>| Some((entry.key.text()?, label_value(entry.value)?));
        Self {
            labels: entries.filter_map(pair).collect(),
        }
    }

    /// Parses a mapping of label names to values in a custom resource, from which the API server removes null.
    ///
    /// Source: apiextensions-apiserver 0.34.1, `PruneNonNullableNullsWithoutDefaults`.
    #[must_use]
    pub fn from_custom(node: Option<NodeRef<'t>>) -> Self {
        let entries = node.into_iter().flat_map(NodeRef::set_entries);
        let pair = |entry: Entry<'t>| Some((entry.key.text()?, entry.value.text()?));
        Self {
            labels: entries.filter_map(pair).collect(),
        }
    }

    /// Returns the labels that the selector requires.
    #[must_use]
    pub fn into_labels(self) -> Vec<(&'t str, &'t str)> {
        self.labels
    }

    /// Returns whether the selector requires no labels.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// Returns whether `labels`, a mapping, contains all required labels.
    #[must_use]
    pub fn matches(&self, labels: Option<NodeRef<'_>>) -> bool {
        if self.labels.len() <= FEW {
            return self.labels.iter().all(|(key, value)| {
                let found = labels.and_then(|labels| labels.get(key));
                found.and_then(label_value) == Some(value)
            });
        }
        let written: HashMap<&str, &str> = labels
            .into_iter()
            .flat_map(NodeRef::effective_entries)
            .filter_map(|entry| Some((entry.key.text()?, label_value(entry.value)?)))
            .collect();
        self.labels
            .iter()
            .all(|(key, value)| written.get(key) == Some(value))
    }
}

/// Returns the value of a label. In objects of Kubernetes itself, null is the empty text, as Go decodes it into a map of
/// texts.
fn label_value(node: NodeRef<'_>) -> Option<&str> {
    match node.is_null() {
        true => Some(""),
        false => node.text(),
    }
}
