//! What is known of folders that were listed: the disk need not be asked again.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use hashbrown::HashMap;

use super::ignores::Hider;
use super::kustomization::kustomization_in;
use super::links::Links;

/// The folders that a run has listed, as the walk spells them: a [`Path`] would be hashed part by
/// part.
#[derive(Debug, Default)]
pub struct Folders {
    listed: HashMap<OsString, Holds>,
    /// What ignore files hide, by its resolved path; only where that is to be reported.
    pub(super) hidden: Vec<(PathBuf, Hider)>,
    /// The links that the walk met, and that lead to something that is read.
    pub links: Links,
}

/// What lies in a folder.
#[derive(Clone, Copy, Debug)]
pub(super) struct Holds {
    /// Something called `.git`.
    pub(super) git: bool,
    /// Something with the name of a kustomization.
    pub(super) kustomization: bool,
}

impl Folders {
    pub(super) fn add(&mut self, folder: PathBuf, holds: Holds) {
        self.listed.insert(folder.into_os_string(), holds);
    }

    /// Tells whether a folder is the root of a repository.
    pub(super) fn is_repository(&self, folder: &Path) -> bool {
        let listed = self.listed.get(folder.as_os_str());
        listed.is_none_or(|holds| holds.git) && folder.join(".git").exists()
    }

    /// Returns the kustomization file in a folder, if there is one.
    pub(super) fn kustomization_in(&self, folder: &Path) -> Option<PathBuf> {
        let listed = self.listed.get(folder.as_os_str());
        let may_hold = listed.is_none_or(|holds| holds.kustomization);
        may_hold.then(|| kustomization_in(folder)).flatten()
    }
}
