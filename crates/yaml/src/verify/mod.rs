//! Verification of edits with a second, independent parser, the referee.
//!
//! The referee is derived from libyaml, like the parser of kubectl, and does not share code with ours. The value that
//! it reads from the original document, with the intended changes applied, must equal the value that it reads from the
//! edited document. In addition, both parsers must read the original document alike.

mod agreement;
mod check;
mod compare;
mod referee;

pub(super) use check::check_edit;
pub use check::verify;
pub use referee::{
    check_brackets, first_document_error, first_document_keys, has_too_many_brackets,
};

#[cfg(test)]
mod tests;

/// Limit on the nodes that aliases repeat; a document that exceeds it is an attack or a mistake.
const REPEATED: usize = 100_000;

/// Limit on nesting that both parsers support.
const DEPTH: usize = 128;
