//! Problems with paths, for files that are not on disk.

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
