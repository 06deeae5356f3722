//! Verification of edits with a second, independent parser, the referee.
//!
//! The referee is derived from libyaml, like the parser of kubectl, and does not share code with ours. The value that
//! it reads from the original document, with the intended changes applied, must equal the value that it reads from the
//! edited document. In addition, both parsers must read the original document alike.

mod agreement;
mod brackets;
mod check;
mod compare;
mod expanded_size;
mod first_document;
mod limits;
mod own_value;
mod referee;
mod root_keys;

pub use brackets::{check_brackets, has_too_many_brackets};
pub(super) use check::check_edit;
pub use check::verify;
pub use first_document::{first_document_error, first_document_keys};

#[cfg(test)]
mod tests;
