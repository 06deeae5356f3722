//! Reasons why the text of a file is missing.

use std::sync::Arc;

use crate::git::GitError;

/// Reason why the text of a file is missing or incomplete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It could not be read, for this reason.
    Unreadable(String),
    /// It is `.git` of a repository, and git cannot list the files that it tracks. Ignore files hide nothing then, so that
    /// every file is read.
    UnlistedIndex(GitError),
    /// It is a symbolic link to a path that does not exist.
    DanglingLink,
    /// It exceeds a limit.
    TooLarge {
        /// The limit.
        limit: FileLimit,
        /// Whether it looks like a Kubernetes manifest.
        kubernetes: bool,
    },
    /// It is not UTF-8; `text` ends before the first invalid byte.
    NotUtf8 {
        /// Whether it nevertheless looks like a Kubernetes manifest.
        kubernetes: bool,
    },
    /// meshprobe panicked while it read the file: the location and the message of the panic.
    Panicked(String),
    /// The renderer that should have produced it failed.
    NotRendered {
        /// The message of the renderer.
        reason: String,
        /// The file that it had to render, as shown to the user.
        asked: Arc<str>,
    },
}

/// Limit that a file exceeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FileLimit {
    /// The size of a file.
    Size,
    /// The values of a file.
    Values,
    /// The values of all files.
    AllValues,
}

impl Fault {
    /// Returns whether no text of the file could be read.
    #[must_use]
    pub const fn is_without_text(&self) -> bool {
        !matches!(self, Self::NotUtf8 { .. })
    }
}
