//! Revisions of a repository, read from the objects of git as if they were on disk.
//!
//! The `git` binary reads the objects. `docs/decisions/0016-git-binary.md` explains the reasons. No command writes into
//! the repository, uses the network, or runs a program that the repository configures.

mod blobs;
mod changed;
mod command;
mod error;
mod index;
mod location;
mod object_files;
mod object_reader;
mod repository;
mod resolve;
mod snapshot;
mod tree;

pub use changed::{ChangedPaths, Side};
pub use error::GitError;
pub use index::TrackedPaths;
pub use location::git_folder;
pub use object_reader::lfs_object;
pub use repository::{Commit, HEAD, Repository};
pub use snapshot::Snapshot;
