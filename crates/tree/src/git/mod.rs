//! Revisions of a repository, read from the objects of git as if they were on disk.
//!
//! The `git` binary reads the objects. `docs/decisions/0016-git-binary.md` explains the reasons. No command writes into
//! the repository, uses the network, or runs a program that the repository configures.

mod command;
mod error;
mod location;
mod object_reader;
mod repository;
mod resolve;
mod snapshot;
mod tree;

pub use error::GitError;
pub use location::git_folder;
pub use object_reader::lfs_object;
pub use repository::{Commit, HEAD, Repository, TrackedPaths};
pub use snapshot::{ChangedPaths, Side, Snapshot};
