//! What follows from the verdicts: findings, changes, and the pages about texts that users paste.
//!
//! An inner crate of `meshprobe`, without a stable API.

pub mod rewrite;
pub mod rules;
pub mod symptoms;

/// The page about what each mesh does to probes, as Markdown.
pub const MESHES_PAGE: &str = include_str!(concat!(env!("MESHPROBE_DOCS"), "/meshes.md"));
