//! Files whose text changes.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use meshprobe_tree::source::SourceSet;

/// A file whose text changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    /// The path as shown to the user.
    pub path: Arc<str>,
    /// The resolved path; `None` for standard input.
    pub location: Option<PathBuf>,
    /// The text that was read.
    pub before: Arc<str>,
    /// The new text.
    pub after: Arc<str>,
}

impl Changed {
    /// Lists the files whose text differs between two sets of the same files.
    #[must_use]
    pub fn between(before: &SourceSet, after: &SourceSet) -> Vec<Self> {
        before
            .files
            .iter()
            .zip(&after.files)
            .filter(|(old, new)| old.text != new.text)
            .map(|(old, new)| Self {
                path: Arc::clone(&old.path),
                location: old.resolved_location().map(Path::to_path_buf),
                before: Arc::clone(&old.text),
                after: Arc::clone(&new.text),
            })
            .collect()
    }
}
