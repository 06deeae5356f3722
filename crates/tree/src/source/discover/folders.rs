//! Cache of listed folders, which avoids further accesses to the disk.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use hashbrown::HashMap;

use crate::filesystem::FileSystem;
use crate::source::discover::candidate::Candidate;
use crate::source::discover::tracked::Tracked;
use crate::source::model::links::Links;

/// Folders that a run has listed, with the paths of the walk as strings: hashing a [`Path`] is slower, because it is
/// hashed component by component.
#[derive(Debug, Default)]
pub struct Folders {
    /// The files that the run reads.
    pub(in crate::source) files: FileSystem,
    listed: HashMap<OsString, FolderContent>,
    /// What git tracks.
    pub(super) tracked: Tracked,
    /// The scripts that the walk found.
    pub(in crate::source) scripts: Vec<Candidate>,
    /// The links that the walk found and that lead to files of the run.
    pub links: Links,
}

/// Relevant content of a folder.
#[derive(Clone, Copy, Debug)]
pub(in crate::source) struct FolderContent {
    /// Whether there is an entry named `.git`.
    pub(in crate::source) git: bool,
    /// Whether there is an entry with the name of a kustomization.
    pub(in crate::source) kustomization: bool,
}

impl Folders {
    /// Creates a cache of the folders of a file system.
    #[must_use]
    pub fn of(files: FileSystem) -> Self {
        Self {
            files,
            ..Self::default()
        }
    }

    pub(in crate::source) fn add(&mut self, folder: PathBuf, holds: FolderContent) {
        self.listed.insert(folder.into_os_string(), holds);
    }

    /// Returns whether a folder is the root of a repository.
    pub(in crate::source) fn is_repository(&self, folder: &Path) -> bool {
        let listed = self.listed.get(folder.as_os_str());
        listed.is_none_or(|holds| holds.git) && self.files.exists(&folder.join(".git"))
    }

    /// Returns the kustomization file in a folder, if there is one.
    pub(in crate::source) fn kustomization_in(&self, folder: &Path) -> Option<PathBuf> {
        let listed = self.listed.get(folder.as_os_str());
        let may_hold = listed.is_none_or(|holds| holds.kustomization);
        may_hold
            .then(|| self.files.kustomization_in(folder))
            .flatten()
    }
}
