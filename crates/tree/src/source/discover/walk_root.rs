//! Folder at which a walk starts.

use std::path::{Path, PathBuf};

use crate::filesystem::FileSystem;
use crate::source::discover::walk_entry::{LEADS_FAR, LEADS_OUT};

/// Folder at which a walk starts.
#[derive(Clone, Debug)]
pub(in crate::source) struct Root {
    /// Its path as named by the user or a file.
    pub(in crate::source) path: PathBuf,
    /// Its resolved path.
    pub(in crate::source) real: PathBuf,
    /// The resolved path of the folder that links must not leave if there is no repository.
    around: PathBuf,
    pub(in crate::source) files: FileSystem,
}

impl Root {
    /// Creates the root at `path`, with its resolved path.
    pub(in crate::source) fn resolved(
        path: &Path,
        real: PathBuf,
        working_directory: &Path,
        files: &FileSystem,
    ) -> Self {
        let working_directory = files.resolved_or_folded(working_directory);
        let around = if real.starts_with(&working_directory) {
            working_directory
        } else {
            real.clone()
        };
        Self {
            path: path.to_path_buf(),
            real,
            around,
            files: files.clone(),
        }
    }

    /// Returns the reason why a link in `folder` that leads to `real` is not followed, if there is one.
    pub(in crate::source) fn leads_out(&self, folder: &Path, real: &Path) -> Option<&'static str> {
        let folder = self.files.resolved_or_folded(folder);
        match self.files.repository_root(&folder) {
            Some(root) => (!real.starts_with(root)).then_some(LEADS_OUT),
            None => (!real.starts_with(&self.around)).then_some(LEADS_FAR),
        }
    }

    /// Returns the path below [`Root::path`] for a resolved path below the root.
    pub(in crate::source) fn named(&self, real: &Path) -> Option<PathBuf> {
        Some(self.path.join(real.strip_prefix(&self.real).ok()?))
    }

    /// Returns the resolved path of a path below the root that is not a link. The walk does not follow other links, so
    /// resolving the root is sufficient.
    pub(in crate::source) fn real(&self, path: &Path) -> PathBuf {
        let below = path.strip_prefix(&self.path);
        below.map_or_else(
            |_| self.files.resolved_or_folded(path),
            |below| self.real.join(below),
        )
    }
}
