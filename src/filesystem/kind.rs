//! What an entry of a folder is.

use std::ffi::OsString;
use std::fs::FileType;

/// An entry of a folder.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Its name, without any folder.
    pub name: OsString,
    /// What it is; a link is not followed.
    pub kind: Kind,
}

/// What an entry of a folder is.
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
    /// Names a file that has no bytes of its own; `None` for files, folders and links.
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

#[cfg(unix)]
impl From<FileType> for Kind {
    fn from(kind: FileType) -> Self {
        use std::os::unix::fs::FileTypeExt as _;
        if kind.is_dir() {
            Self::Folder
        } else if kind.is_symlink() {
            Self::Link
        } else if kind.is_fifo() {
            Self::Pipe
        } else if kind.is_socket() {
            Self::Socket
        } else if kind.is_char_device() || kind.is_block_device() {
            Self::Device
        } else {
            Self::File
        }
    }
}

#[cfg(not(unix))]
impl From<FileType> for Kind {
    fn from(kind: FileType) -> Self {
        if kind.is_dir() {
            Self::Folder
        } else if kind.is_symlink() {
            Self::Link
        } else {
            Self::File
        }
    }
}
