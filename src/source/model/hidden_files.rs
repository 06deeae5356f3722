//! Files that a line of an ignore file hides.

use std::sync::Arc;

use crate::yaml::Span;

/// Files that a line of an ignore file hides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HiddenFiles {
    /// The line.
    pub line: Span,
    /// The manifests that git tracks, as shown to the user, or the reason why they are unknown.
    pub tracked: Result<Vec<Arc<str>>, String>,
    /// The templates of Helm charts with manifests that git tracks, as shown to the user.
    pub templates: Vec<Arc<str>>,
    /// Whether they are reported as a note, because the run is not a gate.
    pub is_noted: bool,
}

/// Folder that a line of an ignore file hides.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IgnoredFolder {
    /// The folder, as shown to the user.
    pub path: String,
    /// The ignore file, as shown to the user.
    pub ignore_file: String,
    /// The number of the line, from 1.
    pub line: usize,
}
