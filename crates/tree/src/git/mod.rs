//! Revisions of a repository, read from the objects of git as if they were on disk.
//!
//! The `git` binary reads the objects. `docs/decisions/0016-git-binary.md` explains the reasons. No command writes into
//! the repository, uses the network, or runs a program that the repository configures.

mod batch;
mod blob_name;
mod blobs;
mod changed;
mod command;
mod default_base;
mod empty_tree;
mod error;
mod failures;
mod filtered;
mod index;
mod known;
mod lfs;
mod location;
mod names;
mod object_files;
mod object_reader;
mod raw_diff;
mod repository;
mod resolve;
mod snapshot;
mod storage;
mod submodules;
mod tracked_paths;
mod tree;
mod working_tree;

pub use changed::{ChangedPaths, Side};
pub use error::GitError;
pub use lfs::lfs_object;
pub use location::git_folder;
pub use repository::{Commit, HEAD, Repository};
pub use snapshot::Snapshot;
pub use tracked_paths::TrackedPaths;
