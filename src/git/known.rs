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
        if let Some(known) = self.known_listing(commit) {
            return Ok(known);
        }
        Ok(self.keep_listing(commit, list(&self.git, commit)?))
    }

    /// Returns the listing of a commit if it is known.
    pub(super) fn known_listing(&self, commit: &str) -> Option<Arc<[Listed]>> {
        let listings = self.listings.lock();
        let listings = listings.unwrap_or_else(PoisonError::into_inner);
        listings.get(commit).cloned()
    }

    /// Keeps the listing of a commit.
    pub(super) fn keep_listing(&self, commit: &str, listed: Vec<Listed>) -> Arc<[Listed]> {
        let listed: Arc<[Listed]> = listed.into();
        let listings = self.listings.lock();
        let mut listings = listings.unwrap_or_else(PoisonError::into_inner);
        listings.insert(commit.to_owned(), Arc::clone(&listed));
        listed
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
