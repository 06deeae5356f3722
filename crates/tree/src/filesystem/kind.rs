//! The kinds of entries of a folder.

use std::ffi::OsString;
use std::fs::FileType;

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
