//! The files that a run reads: access to them, revisions of git, and their documents.
//!
//! An inner crate of `meshprobe`, without a stable API.

pub mod filesystem;
pub mod git;
pub mod source;
