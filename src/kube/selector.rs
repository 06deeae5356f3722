//! Label selectors of the plain kind: `matchLabels`.

use hashbrown::HashMap;

use crate::yaml::NodeRef;

/// So few labels are looked up one by one.
const FEW: usize = 8;

/// The labels a selector asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct LabelSelector<'t> {
    labels: Vec<(&'t str, &'t str)>,
}

impl<'t> LabelSelector<'t> {
    /// Reads a mapping of label names to values; anything else asks for nothing.
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

    /// Returns the labels that the selector asks for.
    #[must_use]
    pub fn into_labels(self) -> Vec<(&'t str, &'t str)> {
        self.labels
    }

    /// Tells whether the selector asks for nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// Returns whether all labels that are asked for are in `labels` (a mapping).
    #[must_use]
    pub fn matches(&self, labels: Option<NodeRef<'_>>) -> bool {
        if self.labels.len() <= FEW {
            return self.labels.iter().all(|(key, value)| {
                let found = labels.and_then(|labels| labels.get(key));
                found.and_then(NodeRef::text) == Some(value)
            });
        }
        let entries = labels.into_iter().flat_map(NodeRef::effective_entries);
        let written: HashMap<&str, &str> = entries
            .filter_map(|entry| Some((entry.key.text()?, entry.value.text()?)))
            .collect();
        let mut asked = self.labels.iter();
        asked.all(|(key, value)| written.get(key) == Some(value))
    }
}
