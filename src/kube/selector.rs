//! Label selectors of the plain kind: `matchLabels`.

use crate::yaml::NodeRef;

/// The labels a selector asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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

    /// Tells whether all asked-for labels stand in `labels` (a mapping).
    #[must_use]
    pub fn matches(&self, labels: Option<NodeRef<'_>>) -> bool {
        self.labels.iter().all(|(key, value)| {
            labels
                .and_then(|labels| labels.get(key))
                .and_then(NodeRef::text)
                == Some(value)
        })
    }
}
