//! Map from rendered manifests to the files that users edit.
//!
//! kustomize, kpt and helm record the origin of objects in annotations or comments. These are read once when
//! the files are loaded; later lookups do not access the disk.

mod files;
mod hint;
mod original;
mod template;

pub(in crate::source) use files::finds_origin;
pub use files::mark_origins;
pub(in crate::source) use hint::{may_have_origin, may_name_origin};

#[cfg(test)]
mod tests;
