//! Facts that `diff` supposes for selected pods.

use super::{FactOverrides, Version};

/// Facts for the pods that namespaces or labels select. They take precedence over all others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SelectedFacts {
    /// The namespaces; empty for all.
    pub namespaces: Vec<String>,
    /// The labels that a workload or its pod template must have; empty for all.
    pub labels: Vec<(String, String)>,
    /// The facts.
    pub overrides: FactOverrides,
    /// The release of the mesh.
    pub mesh_version: Option<Version>,
}
