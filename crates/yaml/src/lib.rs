//! Parses and edits YAML text: nodes with their positions, the scalar rules of Kubernetes tooling, byte edits, and the
//! second parser that verifies them.
//!
//! This module does not depend on Kubernetes types.

mod alias_limit;
mod arena;
mod block;
mod change;
mod comment;
mod compose;
pub(crate) mod de;
mod duplicate_keys;
pub mod edit;
mod embedded;
mod field_path;
mod json_conversion;
mod merge;
mod parse;
mod scalar;
mod span;
mod syntax_error;
mod tree;
pub mod verify;

pub use alias_limit::check_expanded_size;
pub use block::parse_fast;
pub use change::{Change, Value};
pub use comment::{comments, is_marker, is_touching_separator};
pub use compose::Composer;
pub use de::{DeError, from_node};
pub use edit::{apply, apply_embedded, plan, plan_each, verify_edits};
pub use embedded::parse_embedded;
pub use field_path::{FieldPath, Step};
pub use json_conversion::{directive_fault, has_cycle, json_fault};
pub use merge::{Ambiguity, ambiguities};
pub use parse::{parse, parse_fully, parse_within};
pub use scalar::{Scalar, decode_base64, plain_is_string, resolve_plain};
pub use span::{Edit, EditError, LineIndex, Position, Span, splice, splice_segment};
pub use syntax_error::SyntaxError;
pub use tree::{Entry, Kind, NodeRef, Style, Tree};
pub use verify::{
    check_brackets, first_document_error, first_document_keys, has_too_many_brackets,
};
