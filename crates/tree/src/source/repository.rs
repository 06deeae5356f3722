//! Root folders of repositories.

use std::path::Path;

use crate::filesystem::FileSystem;

impl FileSystem {
    /// Returns the nearest repository that contains a folder, given by its resolved path.
    pub(in crate::source) fn repository_root<'p>(&self, folder: &'p Path) -> Option<&'p Path> {
        let mut above = folder.ancestors();
        above.find(|folder| self.exists(&folder.join(".git")))
    }
}
