//! What was read of a repository, which all copies of its handle share.

use std::sync::{Arc, Mutex, PoisonError};

use hashbrown::HashMap;

use super::blobs::Blobs;
use super::command::Git;
use super::error::GitError;
use super::index::Index;
use super::tree::{Listed, list};

/// What was read of a repository.
#[derive(Debug)]
pub(super) struct Known {
    git: Git,
    /// The objects.
    pub(super) blobs: Arc<Blobs>,
    /// The paths of commits, by their hashes.
    listings: Mutex<HashMap<String, Arc<[Listed]>>>,
    index: Mutex<Option<Arc<Index>>>,
}

impl Known {
    pub(super) fn new(git: &Git) -> Self {
        Self {
            git: git.clone(),
            blobs: Arc::new(Blobs::new(git.clone())),
            listings: Mutex::default(),
            index: Mutex::default(),
        }
    }

    /// Returns all files, links and submodules of a commit.
    pub(super) fn listed(&self, commit: &str) -> Result<Arc<[Listed]>, GitError> {
        let mut listings = self.listings.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = listings.get(commit) {
            return Ok(Arc::clone(known));
        }
        let listed: Arc<[Listed]> = list(&self.git, commit)?.into();
        listings.insert(commit.to_owned(), Arc::clone(&listed));
        Ok(listed)
    }

    /// Lists the files of the index.
    pub(super) fn index(&self) -> Result<Arc<Index>, GitError> {
        let mut known = self.index.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = &*known {
            return Ok(Arc::clone(known));
        }
        let found = Arc::new(Index::list(&self.git)?);
        *known = Some(Arc::clone(&found));
        Ok(found)
    }
}
