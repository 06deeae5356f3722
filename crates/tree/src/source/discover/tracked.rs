//! What git tracks: ignore files do not hide it, and its links must not lead out of the repository.

use std::path::{Path, PathBuf};

use hashbrown::HashMap;

use crate::git::{GitError, TrackedPaths};

/// What git tracks in the repositories for which this was needed, by their roots: git runs once for each.
#[derive(Debug, Default)]
pub(in crate::source) struct Tracked(HashMap<PathBuf, Result<Option<TrackedPaths>, GitError>>);

impl Tracked {
    /// Returns whether git tracks a resolved path, or a file below it, in the repository at `root`. Returns true if git
    /// cannot tell: a fault may be in a file that is deployed.
    pub(in crate::source) fn may_contain(&mut self, root: &Path, path: &Path) -> bool {
        if !self.0.contains_key(root) {
            self.0.insert(root.to_path_buf(), TrackedPaths::of(root));
        }
        match self.0.get(root) {
            Some(Ok(tracked)) => tracked
                .as_ref()
                .is_some_and(|tracked| tracked.contains(path)),
            Some(Err(_)) | None => true,
        }
    }

    /// Iterates over the repositories whose index git cannot list: `.git`, with the reason.
    pub(super) fn unlisted(&self) -> impl Iterator<Item = (PathBuf, &GitError)> {
        self.0
            .iter()
            .filter_map(|(root, tracked)| Some((root.join(".git"), tracked.as_ref().err()?)))
    }
}
