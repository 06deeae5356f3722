//! Handle to the files that a run reads: those on disk, or those of another state of a repository.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::disk::{Disk, ReadFiles};
use super::{Entry, Kind, OpenFile};

/// Handle to the files that a run reads; by default those on disk.
#[derive(Clone, Debug)]
pub struct FileSystem(Arc<dyn ReadFiles>);

impl Default for FileSystem {
    fn default() -> Self {
        Self::new(Disk)
    }
}

impl FileSystem {
    /// Creates a handle.
    pub fn new(files: impl ReadFiles + 'static) -> Self {
        Self(Arc::new(files))
    }

    /// Resolves links and `..`, and returns an absolute path.
    ///
    /// # Errors
    /// The same as of [`ReadFiles::canonical`].
    pub fn canonical(&self, path: &Path) -> io::Result<PathBuf> {
        self.0.canonical(path)
    }

    /// Returns the kind of the entry at a path, after following links.
    ///
    /// # Errors
    /// The same as of [`ReadFiles::kind`].
    pub fn kind(&self, path: &Path) -> io::Result<Kind> {
        self.0.kind(path)
    }

    /// Returns the kind of the entry at a path. Does not follow a link at its end.
    ///
    /// # Errors
    /// The same as of [`ReadFiles::symlink_kind`].
    pub fn symlink_kind(&self, path: &Path) -> io::Result<Kind> {
        self.0.symlink_kind(path)
    }

    /// Returns the length of the regular file at a path in bytes, after following links; `None` if it is not a regular
    /// file.
    ///
    /// # Errors
    /// The same as of [`ReadFiles::file_length`].
    pub fn file_length(&self, path: &Path) -> io::Result<Option<u64>> {
        self.0.file_length(path)
    }

    /// Returns the target of the link at a path.
    ///
    /// # Errors
    /// The same as of [`ReadFiles::read_link`].
    pub fn read_link(&self, path: &Path) -> io::Result<PathBuf> {
        self.0.read_link(path)
    }

    /// Lists the folder at a resolved path, in any order.
    ///
    /// # Errors
    /// The same as of [`ReadFiles::entries`].
    pub fn entries(&self, path: &Path) -> io::Result<Vec<io::Result<Entry>>> {
        self.0.entries(path)
    }

    /// Opens the regular file at a resolved path for reading.
    ///
    /// # Errors
    /// The same as of [`ReadFiles::open_file`].
    pub fn open_file(&self, path: &Path) -> io::Result<OpenFile> {
        self.0.open_file(path)
    }

    /// Opens the file at a path for reading, after following links.
    ///
    /// # Errors
    /// The same as of [`ReadFiles::open_following`].
    pub fn open_following(&self, path: &Path) -> io::Result<OpenFile> {
        self.0.open_following(path)
    }

    /// Returns whether the entry at a resolved path comes from git, which tracks it. On disk, git must be asked.
    #[must_use]
    pub fn is_tracked(&self, path: &Path) -> bool {
        self.0.is_tracked(path)
    }

    /// Returns whether a path leads to a folder.
    #[must_use]
    pub fn is_dir(&self, path: &Path) -> bool {
        self.kind(path).is_ok_and(|kind| kind == Kind::Folder)
    }

    /// Returns whether a path leads to a regular file.
    #[must_use]
    pub fn is_file(&self, path: &Path) -> bool {
        self.kind(path).is_ok_and(|kind| kind == Kind::File)
    }

    /// Returns whether a path is a symbolic link.
    #[must_use]
    pub fn is_symlink(&self, path: &Path) -> bool {
        self.symlink_kind(path).is_ok_and(|kind| kind == Kind::Link)
    }

    /// Returns whether a path leads to an entry.
    #[must_use]
    pub fn exists(&self, path: &Path) -> bool {
        self.kind(path).is_ok()
    }
}
