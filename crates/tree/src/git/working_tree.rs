//! Files of the working tree about which the index makes a false statement.

use std::path::PathBuf;
use std::sync::Arc;

use super::error::GitError;
use super::index::Flagged;
use super::repository::Repository;
use super::snapshot::Snapshot;
use super::tree::{GITLINK, LINK, Node, Object, Tree};

/// Returns the paths of existing files whose changes git does not see: those that are assumed to be unchanged, or that
/// exist although a sparse checkout leaves them out.
pub(super) fn hidden_changes(repository: &Repository) -> Result<Vec<PathBuf>, GitError> {
    if repository.is_bare {
        return Ok(Vec::new());
    }
    let index = repository.known.index()?;
    let exists = |path: &PathBuf| repository.root.join(path).symlink_metadata().is_ok();
    Ok(index
        .flagged
        .iter()
        .filter(|flagged| !flagged.is_skipped || exists(&flagged.listed.path))
        .map(|flagged| flagged.listed.path.clone())
        .collect())
}

impl Repository {
    /// Reads the working tree. Files that a sparse checkout leaves out are read from the index, so that a comparison
    /// with a commit does not report them as removed.
    ///
    /// # Errors
    /// Git cannot list the index.
    pub fn snapshot_of_working_tree(&self) -> Result<Snapshot, GitError> {
        snapshot_of_working_tree(self)
    }
}

fn snapshot_of_working_tree(repository: &Repository) -> Result<Snapshot, GitError> {
    if repository.is_bare {
        return Ok(Snapshot::default());
    }
    let index = repository.known.index()?;
    let skipped = index.flagged.iter().filter(|file| file.is_skipped);
    let mut tree = Tree::new();
    let mut is_complete = true;
    let has_links = repository.has_links()?;
    for Flagged { listed, .. } in skipped {
        let object = Object {
            name: listed.object.clone(),
            blobs: Arc::clone(&repository.known.blobs),
        };
        let node = match listed.mode.as_str() {
            GITLINK => continue,
            LINK if has_links => Node::Link(object),
            _ => Node::File(object),
        };
        is_complete = false;
        tree.add(&listed.path, node);
    }
    Ok(if is_complete {
        Snapshot::default()
    } else {
        Snapshot::over_disk(repository, tree)
    })
}
