//! The changes and findings of one pod.

use meshprobe_mesh::finding::Finding;
use meshprobe_yaml::Change;

/// The plan for one pod.
#[derive(Debug, Default)]
pub(in crate::rewrite) struct PodOutcome {
    pub(in crate::rewrite) changes: Vec<Change>,
    pub(in crate::rewrite) findings: Vec<Finding>,
}

impl PodOutcome {
    pub(in crate::rewrite) fn left(findings: impl IntoIterator<Item = Finding>) -> Self {
        Self {
            changes: Vec::new(),
            findings: findings.into_iter().collect(),
        }
    }
}
