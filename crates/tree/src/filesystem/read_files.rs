//! Access to files that are only read.

use std::fmt::Debug;
use std::io;
use std::path::{Path, PathBuf};

use super::{Entry, Kind, OpenFile};

/// Files that can be read, and never written.
///
/// The errors are those of the system for the same operation on disk, so that a state of a repository cannot be
/// distinguished from a checkout of it.
pub trait ReadFiles: Debug + Send + Sync {
    /// Resolves links and `..`, and returns an absolute path.
    ///
    /// # Errors
    /// The error of the system, such as [`io::ErrorKind::NotFound`].
    fn canonical(&self, path: &Path) -> io::Result<PathBuf>;

    /// Returns the kind of the entry at a path, after following links.
    ///
    /// # Errors
    /// The error of the system.
    fn kind(&self, path: &Path) -> io::Result<Kind>;

    /// Returns the kind of the entry at a path. Does not follow a link at its end.
    ///
    /// # Errors
    /// The error of the system.
    fn symlink_kind(&self, path: &Path) -> io::Result<Kind>;

    /// Returns the length of the regular file at a path in bytes, after following links; `None` if it is not a regular
    /// file.
    ///
    /// # Errors
    /// The error of the system.
    fn file_length(&self, path: &Path) -> io::Result<Option<u64>>;

    /// Returns the target of the link at a path.
    ///
    /// # Errors
    /// The error of the system; also if it is not a link.
    fn read_link(&self, path: &Path) -> io::Result<PathBuf>;

    /// Lists the folder at a resolved path, in any order.
    ///
    /// # Errors
    /// The error of the system. Entries that cannot be read are errors in the list.
    fn entries(&self, path: &Path) -> io::Result<Vec<io::Result<Entry>>>;

    /// Opens the regular file at a resolved path for reading.
    ///
    /// # Errors
    /// The error of the system; also if the path is a link, or is not a regular file.
    fn open_file(&self, path: &Path) -> io::Result<OpenFile>;

    /// Returns whether the entry at a resolved path comes from git, which tracks it.
    fn is_tracked(&self, _path: &Path) -> bool {
        false
    }

    /// Opens the file at a path for reading, after following links. On disk, it may be a pipe or a device.
    ///
    /// # Errors
    /// The error of the system.
    fn open_following(&self, path: &Path) -> io::Result<OpenFile>;
}
