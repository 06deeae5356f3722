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
}
