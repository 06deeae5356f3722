//! The URLs of a repository, and whether a source is in it.

use std::collections::BTreeSet;

use crate::gitops::repository_url::{RepositoryUrl, Storage};

/// How a source relates to the repository of the object that names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Relation {
    /// It is this repository.
    Own,
    /// The URLs do not show it.
    Unknown,
    /// It is another repository.
    Other,
}

/// The URLs of a repository.
#[derive(Debug, Default)]
pub(super) struct OwnUrls {
    pub(super) remotes: BTreeSet<RepositoryUrl>,
    /// Those from which objects deploy themselves.
    pub(super) deployed: BTreeSet<RepositoryUrl>,
}

impl OwnUrls {
    pub(super) fn contains(&self, url: &RepositoryUrl) -> bool {
        self.deployed.contains(url) || self.remotes.contains(url)
    }

    /// Returns how a source with this URL relates to the repository.
    pub(super) fn relation(&self, url: &RepositoryUrl) -> Relation {
        if self.contains(url) {
            return Relation::Own;
        }
        let of_storage = |all: &BTreeSet<RepositoryUrl>| -> Vec<RepositoryUrl> {
            let same = all.iter().filter(|own| own.storage == url.storage);
            same.cloned().collect()
        };
        let (deployed, remotes) = (of_storage(&self.deployed), of_storage(&self.remotes));
        let is_other = if !deployed.is_empty() {
            deployed.iter().all(|own| own.differs_from(url))
        } else if !remotes.is_empty() {
            remotes.iter().all(|own| own.has_other_name(url))
        } else {
            let mut all = self.deployed.iter().chain(&self.remotes).peekable();
            let is_known = url.storage == Storage::Oci && all.peek().is_some();
            is_known && all.all(|own| url.has_other_owner(own))
        };
        match is_other {
            true => Relation::Other,
            false => Relation::Unknown,
        }
    }
}
