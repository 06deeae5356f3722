//! Reads files, on disk or in another state of a repository, through one handle.
//!
//! Which files may be read is decided when a path is found: a link that leads out of the repository is not followed
//! (`docs/decisions/0002-repository-boundary.md`). What is opened then is a resolved path; a link at its end is refused.

mod confined;
mod disk;
mod file_system;
mod kind;
mod listed;
#[cfg(unix)]
#[cfg(test)]
mod tests;

pub use confined::Confinement;
pub use disk::{Disk, ReadFiles, canonical, path_error};
pub use file_system::FileSystem;
pub use kind::{Entry, Kind, OpenFile, PathProblem, without_dots};
pub(crate) use kind::{LONGEST_NAME, ends_with_slash};
