//! The folders of the workspace.

use std::path::{Path, PathBuf};

/// A folder of the workspace, or a single document outside of all folders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Root {
    /// The folder that displayed paths are relative to.
    pub folder: PathBuf,
    /// The only file that is checked; `None` for all files of the folder.
    pub only: Option<PathBuf>,
}

impl Root {
    /// Returns whether a path is checked.
    pub(super) fn contains(&self, path: &Path) -> bool {
        match &self.only {
            Some(only) => only == path,
            None => path.starts_with(&self.folder),
        }
    }
}

/// Returns the innermost of the folders that contain a path.
pub(super) fn innermost<'r>(
    roots: impl Iterator<Item = &'r Root>,
    path: &Path,
) -> Option<&'r Root> {
    roots
        .filter(|root| root.contains(path))
        .max_by_key(|root| (root.only.is_none(), root.folder.components().count()))
}
