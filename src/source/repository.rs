//! Root folders of repositories.

use std::path::Path;

/// Returns the nearest repository that contains a folder, given by its resolved path.
pub(in crate::source) fn repository_root(folder: &Path) -> Option<&Path> {
    let mut above = folder.ancestors();
    above.find(|folder| folder.join(".git").exists())
}
