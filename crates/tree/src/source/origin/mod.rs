//! Map from rendered manifests to the files that users edit.
//!
//! kustomize, kpt and helm record the origin of objects in annotations or comments. These are read once when
//! the files are loaded; later lookups do not access the disk.

mod field_steps;
mod files;
mod hint;
mod mark;
mod original;
mod origins;
mod place;
mod template;
mod template_lines;

pub(in crate::source) use hint::{may_have_origin, may_name_origin};
pub(in crate::source) use mark::finds_origin;
pub use mark::mark_origins;

#[cfg(test)]
mod tests;
