//! The kinds of entries of a folder.
//!
//! Problems with paths, for files that are not on disk.
//!
//! The text of a path, without access to files.
//!
//! Files that are open for reading.

use std::ffi::OsString;
use std::fs::{File, FileType};
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};
use std::{fmt, io};

/// An entry of a folder.
#[derive(Clone, Debug)]
pub struct Entry {
    /// The name, without folders.
    pub name: OsString,
    /// The kind; a link is not followed.
    pub kind: Kind,
}

/// The kind of an entry of a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symbolic link.
    Link,
    /// A named pipe.
    Pipe,
    /// A socket.
    Socket,
    /// A device.
    Device,
}

impl Kind {
    /// Returns a description of a file without content of its own; `None` for files, folders and links.
    #[must_use]
    pub const fn special(self) -> Option<&'static str> {
        match self {
            Self::File | Self::Folder | Self::Link => None,
            Self::Pipe => Some("a pipe"),
            Self::Socket => Some("a socket"),
            Self::Device => Some("a device"),
        }
    }
}

impl From<FileType> for Kind {
    fn from(kind: FileType) -> Self {
        if kind.is_dir() {
            Self::Folder
        } else if kind.is_symlink() {
            Self::Link
        } else {
            special(kind).unwrap_or(Self::File)
        }
    }
}

/// Returns the kind of a pipe, socket or device; `None` for all other entries.
#[cfg(unix)]
fn special(kind: FileType) -> Option<Kind> {
    use std::os::unix::fs::FileTypeExt as _;
    if kind.is_fifo() {
        Some(Kind::Pipe)
    } else if kind.is_socket() {
        Some(Kind::Socket)
    } else if kind.is_char_device() || kind.is_block_device() {
        Some(Kind::Device)
    } else {
        None
    }
}

#[cfg(not(unix))]
const fn special(_kind: FileType) -> Option<Kind> {
    None
}

/// Problem with a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathProblem {
    /// Nothing has this path.
    Missing,
    /// A part of the path is not a folder.
    NotAFolder,
    /// The path or a name in it is too long.
    TooLong,
    /// The path leads through too many links.
    TooManyLinks,
    /// The path is not a symbolic link.
    NotALink,
}

/// Resolves `.` and `..` in the text of a path. Links are not followed, and `..` at the root is dropped.
#[must_use]
pub fn without_dots(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                plain.pop();
            }
            other => plain.push(other),
        }
    }
    plain
}

/// Maximum length of a name in bytes, as in the usual file systems.
pub(crate) const LONGEST_NAME: usize = 255;

/// Returns whether a path ends with `/` or `/.`, so that it only leads to a folder.
pub(crate) fn ends_with_slash(path: &Path) -> bool {
    let bytes = path.as_os_str().as_encoded_bytes();
    bytes.len() > 1 && (bytes.ends_with(b"/") || bytes.ends_with(b"/."))
}

/// File that is open for reading, with its length.
#[derive(Debug)]
pub struct OpenFile {
    length: u64,
    content: Content,
}

/// The bytes of a file, which are not read yet.
enum Content {
    Disk(File),
    Stored(Box<dyn FnOnce(u64) -> io::Result<Vec<u8>> + Send>),
}

impl fmt::Debug for Content {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Disk(file) => file.fmt(formatter),
            Self::Stored(_) => formatter.write_str("Stored"),
        }
    }
}

impl OpenFile {
    /// Wraps an open file of the disk.
    ///
    /// # Errors
    /// The error of the system, if the length cannot be determined.
    pub fn on_disk(file: File) -> io::Result<Self> {
        Ok(Self {
            length: file.metadata()?.len(),
            content: Content::Disk(file),
        })
    }

    /// Creates a file of `length` bytes. `read` returns its content, of which no more than the given number of bytes is used.
    pub fn stored(
        length: u64,
        read: impl FnOnce(u64) -> io::Result<Vec<u8>> + Send + 'static,
    ) -> Self {
        Self {
            length,
            content: Content::Stored(Box::new(read)),
        }
    }

    /// Returns the length in bytes; 0 for a pipe or a device.
    #[must_use]
    pub const fn length(&self) -> u64 {
        self.length
    }

    /// Reads the file to its end, but at most `limit` bytes.
    ///
    /// # Errors
    /// The error of the system.
    pub fn read(self, limit: u64) -> io::Result<Vec<u8>> {
        match self.content {
            Content::Disk(file) => {
                let mut bytes = Vec::new();
                let length = self.length.min(limit);
                bytes.try_reserve_exact(usize::try_from(length).unwrap_or_default())?;
                // The length of a pipe or a device is 0. That of other files saves a call that finds the end.
                let length = if length == 0 { limit } else { length };
                file.take(length).read_to_end(&mut bytes)?;
                Ok(bytes)
            }
            Content::Stored(read) => {
                let mut bytes = read(limit)?;
                bytes.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
                Ok(bytes)
            }
        }
    }
}
