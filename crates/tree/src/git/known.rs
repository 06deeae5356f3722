//! What was read of a repository, which all copies of its handle share.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use hashbrown::HashMap;

use super::blobs::Blobs;
use super::command::Git;
use super::error::GitError;
use super::index::Index;
use super::raw_diff::{Difference, patched};
use super::tree::{GITLINK, Listed, list};

/// What was read of a repository.
#[derive(Debug)]
pub(super) struct Known {
    git: Git,
    /// The objects.
    pub(super) blobs: Arc<Blobs>,
    /// The paths of commits, by their hashes.
    listings: Mutex<HashMap<String, Arc<[Listed]>>>,
    /// How the paths of commits follow from those of another state, by their hashes.
    derivations: Mutex<HashMap<String, Derivation>>,
    index: Mutex<Option<Arc<Index>>>,
}

/// The paths of a state from which those of a commit follow.
#[derive(Debug)]
pub(super) enum Other {
    Commit(Arc<[Listed]>),
    Index(Arc<Index>),
}

impl Other {
    /// Returns the paths of the submodules; `None` if they are not clear from an index.
    pub(super) fn submodules(&self) -> Option<Vec<PathBuf>> {
        match self {
            Self::Commit(listed) => Some(submodules_in(listed)),
            Self::Index(index) => index.submodules(),
        }
    }
}

/// Returns the paths of the submodules in a listing.
pub(super) fn submodules_in(listed: &[Listed]) -> Vec<PathBuf> {
    let submodules = listed.iter().filter(|listed| listed.mode == GITLINK);
    submodules.map(|listed| listed.path.clone()).collect()
}

/// How the paths of a commit follow from those of another state.
#[derive(Debug)]
pub(super) struct Derivation {
    pub(super) other: Other,
    /// What differs from the commit to the other state.
    pub(super) differences: Vec<Difference>,
}

impl Derivation {
    /// Returns the paths of the commit; `None` if the other state is an index with a merge conflict, or with a path that git
    /// would not check out.
    fn listed(&self) -> Option<Result<Vec<Listed>, GitError>> {
        let indexed;
        let other = match &self.other {
            Other::Commit(listed) => listed,
            Other::Index(index) => {
                indexed = index.listed()?;
                indexed.as_slice()
            }
        };
        Some(patched(other, &self.differences, |one| &one.before))
    }
}

impl Known {
    pub(super) fn new(git: &Git) -> Self {
        Self {
            git: git.clone(),
            blobs: Arc::new(Blobs::new(git.clone())),
            listings: Mutex::default(),
            derivations: Mutex::default(),
            index: Mutex::default(),
        }
    }

    /// Returns all files, links and submodules of a commit.
    pub(super) fn listed(&self, commit: &str) -> Result<Arc<[Listed]>, GitError> {
        if let Some(known) = self.known_listing(commit) {
            return Ok(known);
        }
        let derivations = self.derivations.lock();
        let mut derivations = derivations.unwrap_or_else(PoisonError::into_inner);
        let derived = derivations.remove(commit);
        drop(derivations);
        let derived = derived.and_then(|derivation| derivation.listed());
        let listed = derived.unwrap_or_else(|| list(&self.git, commit))?;
        Ok(self.keep_listing(commit, listed))
    }

    /// Keeps how the paths of a commit follow from those of another state.
    pub(super) fn keep_derivation(&self, commit: &str, derivation: Derivation) {
        let derivations = self.derivations.lock();
        let mut derivations = derivations.unwrap_or_else(PoisonError::into_inner);
        derivations.insert(commit.to_owned(), derivation);
    }

    /// Returns the listing of a commit if it is known.
    pub(super) fn known_listing(&self, commit: &str) -> Option<Arc<[Listed]>> {
        let listings = self.listings.lock();
        let listings = listings.unwrap_or_else(PoisonError::into_inner);
        listings.get(commit).cloned()
    }

    /// Keeps the listing of a commit.
    fn keep_listing(&self, commit: &str, listed: Vec<Listed>) -> Arc<[Listed]> {
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
