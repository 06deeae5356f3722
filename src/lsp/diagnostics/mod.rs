//! Diagnostics: findings in the words of the protocol.

mod all;
mod by_file;
mod causes;
mod findings;
mod text;

pub(super) use all::of_analysis;
pub(super) use by_file::{ByFile, SOURCE};
pub(super) use text::{invalid_document, is_valid};
