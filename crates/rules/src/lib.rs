//! What follows from the verdicts: findings, changes, and the pages about texts that users paste.
//!
//! An inner crate of `meshprobe`, without a stable API.

pub mod rewrite;
pub mod rules;
pub mod symptoms;
