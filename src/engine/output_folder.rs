//! A folder that the user names for output. What is in it may come from a repository: nothing is
//! read or written through a link in it.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use crate::filesystem::{Folder, Kind};
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
    /// The link of a repository that leads it out of that repository.
    pub(super) fn find(directory: &Path) -> Result<Self, PathBuf> {
        let real = resolved_as_named(directory)?;
        Ok(Self { real })
    }

    /// Returns the resolved path of what is at `below`, a path without `..`, links in the folder
    /// left as they are.
    pub(super) fn place(&self, below: &Path) -> PathBuf {
        if below.as_os_str().is_empty() {
            // Joined, it would end with a separator.
            return self.real.clone();
        }
        self.real.join(below)
    }

    /// Returns what is at `below`; `None` where there is nothing.
    ///
    /// # Errors
    /// What the system reports; an error too where a link leads there.
    pub(super) fn kind(&self, below: &Path) -> io::Result<Option<Kind>> {
        let place = self.place(below);
        let (folder, name) = split(&place)?;
        match Folder::open(folder) {
            Ok(folder) => folder.kind(name),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Opens the regular file at `below` for reading.
    ///
    /// # Errors
    /// As for [`OutputFolder::kind`].
    pub(super) fn open_file(&self, below: &Path) -> io::Result<File> {
        let place = self.place(below);
        let (folder, name) = split(&place)?;
        Folder::open(folder)?.open_file(name)
    }

    /// Returns where the link at `below` leads.
    ///
    /// # Errors
    /// As for [`OutputFolder::kind`].
    pub(super) fn read_link(&self, below: &Path) -> io::Result<PathBuf> {
        let place = self.place(below);
        let (folder, name) = split(&place)?;
        Folder::open(folder)?.read_link(name)
    }

    /// Opens the folder that has `below`, and makes it where it is missing; returns the name of
    /// `below` in it, too.
    ///
    /// # Errors
    /// As for [`OutputFolder::kind`].
    pub(super) fn folder_of(&self, below: &Path) -> io::Result<(Folder, OsString)> {
        let place = self.place(below);
        let (folder, name) = split(&place)?;
        Ok((made(folder)?, name.to_os_string()))
    }
}

fn split(place: &Path) -> io::Result<(&Path, &OsStr)> {
    let parts = place.parent().zip(place.file_name());
    parts.ok_or_else(|| io::ErrorKind::IsADirectory.into())
}

/// Opens the folder at an absolute path, and makes it and those above it where they are missing.
fn made(path: &Path) -> io::Result<Folder> {
    match Folder::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let (above, name) = split(path)?;
            made(above)?.enter(name)
        }
        opened => opened,
    }
}
