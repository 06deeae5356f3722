//! The paths that git tracks in a working tree.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use hashbrown::HashSet;

use super::error::GitError;
use super::index::Index;
use super::location::Location;

/// The paths that git tracks in a working tree, and the folders that contain them.
#[derive(Debug)]
pub struct TrackedPaths {
    /// The resolved root of the working tree.
    root: PathBuf,
    /// Relative to the root.
    paths: HashSet<OsString>,
}

impl TrackedPaths {
    /// Lists the paths that git tracks in the repository of a folder. Returns `None` if the folder is not in a repository.
    ///
    /// # Errors
    /// Git is not installed, does not trust the repository, or cannot list its index.
    pub fn of(folder: &Path) -> Result<Option<Self>, GitError> {
        let Some(found) = Location::around(folder)? else {
            return Ok(None);
        };
        let index = Index::list(&found.git())?;
        let mut paths = HashSet::new();
        for path in index.paths() {
            add_with_folders(&mut paths, path?);
        }
        let root = found.root.ok_or(GitError::InsideGitFolder(found.own))?;
        Ok(Some(Self { root, paths }))
    }

    /// Returns whether git tracks a resolved path, or a file below it.
    #[must_use]
    pub fn contains(&self, path: &Path) -> bool {
        let below = path.strip_prefix(&self.root);
        below.is_ok_and(|below| self.paths.contains(below.as_os_str()))
    }
}

/// Adds a path and the folders that contain it.
pub(super) fn add_with_folders(paths: &mut HashSet<OsString>, path: PathBuf) {
    for above in path.ancestors().skip(1) {
        if !paths.insert(above.as_os_str().into()) {
            break;
        }
    }
    paths.insert(path.into_os_string());
}
