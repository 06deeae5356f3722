//! The probe that a finding is about.

use std::sync::Arc;

use meshprobe_yaml::Span;

/// A probe or hook of a workload.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProbeRef {
    /// The name for messages, such as "readinessProbe of container `web`".
    pub title: String,
    /// The file of its key, as shown to the user with `/`.
    pub path: Arc<str>,
    /// The byte range of its key in that file.
    pub span: Span,
}
