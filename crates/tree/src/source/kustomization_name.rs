//! Names of kustomization files.

use std::path::{Path, PathBuf};

use crate::filesystem::FileSystem;

/// File names that kustomize searches for, in this order.
pub(in crate::source) const NAMES: [&str; 3] =
    ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// Returns whether the path has the name of a kustomization.
#[must_use]
pub fn is_kustomization(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    NAMES.contains(&name)
}

impl FileSystem {
    /// Returns the kustomization file in a folder, if there is one.
    #[must_use]
    pub fn kustomization_in(&self, folder: &Path) -> Option<PathBuf> {
        NAMES
            .iter()
            .map(|name| folder.join(name))
            .find(|path| self.is_file(path))
    }
}
