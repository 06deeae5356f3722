//! Verification of edits with a second, independent parser, the referee.
//!
//! The referee is derived from libyaml, like the parser of kubectl, and does not share code with ours. The value that
//! it reads from the original document, with the intended changes applied, must equal the value that it reads from the
//! edited document. In addition, both parsers must read the original document alike.

mod agreement;
mod compare;
mod referee;

pub(super) use compare::check_edit;
pub use compare::verify;
pub use referee::{
    check_brackets, first_document_error, first_document_keys, has_too_many_brackets,
};

#[cfg(test)]
mod tests;
