//! A folder that the user names for output. Its content may come from a repository, so nothing is read or written through
//! a link in it.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use crate::filesystem::Folder;
use crate::source::resolved_as_named;

/// A folder for output, which need not exist yet.
#[derive(Debug)]
pub(super) struct OutputFolder {
    real: PathBuf,
}

impl OutputFolder {
    /// Resolves the folder at an absolute path.
    ///
    /// # Errors
    /// The path of a link of a repository that leads out of that repository.
    pub(super) fn find(directory: &Path) -> Result<Self, PathBuf> {
        let real = resolved_as_named(directory)?;
        Ok(Self { real })
    }

    /// Returns the resolved path of `below`, a path without `..`. Links in the folder are not resolved.
    pub(super) fn place(&self, below: &Path) -> PathBuf {
        if below.as_os_str().is_empty() {
            // A joined path would end with a separator.
            return self.real.clone();
        }
        self.real.join(below)
    }

    /// Opens the folder that contains `below`, and creates it if it is missing. Also returns the name of `below` in it.
    ///
    /// # Errors
    /// The error of the system; also if a link is in the path.
    pub(super) fn folder_of(&self, below: &Path) -> io::Result<(Folder, OsString)> {
        let place = self.place(below);
        let (folder, name) = split(&place)?;
        Ok((open_or_create(folder)?, name.to_os_string()))
    }
}

fn split(place: &Path) -> io::Result<(&Path, &OsStr)> {
    place
        .parent()
        .zip(place.file_name())
        .ok_or_else(|| io::ErrorKind::IsADirectory.into())
}

/// Opens the folder at an absolute path, and creates it and its parents if they are missing.
fn open_or_create(path: &Path) -> io::Result<Folder> {
    match Folder::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let (above, name) = split(path)?;
            open_or_create(above)?.enter(name)
        }
        opened => opened,
    }
}
