//! Label selectors with `matchLabels` only.

use hashbrown::HashMap;

use crate::yaml::NodeRef;

/// Up to this number, labels are looked up one by one, without an index.
const FEW: usize = 8;

/// Labels that a selector requires.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct LabelSelector<'t> {
    labels: Vec<(&'t str, &'t str)>,
}

impl<'t> LabelSelector<'t> {
    /// Parses a mapping of label names to values; anything else has no requirements.
    #[must_use]
    pub fn from_mapping(node: Option<NodeRef<'t>>) -> Self {
        let entries = node.into_iter().flat_map(NodeRef::effective_entries);
        let pair = |key: NodeRef<'t>, value: NodeRef<'t>| Some((key.text()?, value.text()?));
        Self {
            labels: entries
                .filter_map(|entry| pair(entry.key, entry.value))
                .collect(),
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
                found.and_then(NodeRef::text) == Some(value)
            });
        }
        let written: HashMap<&str, &str> = labels
            .into_iter()
            .flat_map(NodeRef::effective_entries)
            .filter_map(|entry| Some((entry.key.text()?, entry.value.text()?)))
            .collect();
        self.labels
            .iter()
            .all(|(key, value)| written.get(key) == Some(value))
    }
}
