//! Parses and edits YAML text: nodes with their positions, the scalar rules of Kubernetes tooling, byte edits, and the
//! second parser that verifies them.
//!
//! This module does not depend on Kubernetes types.

mod alias_limit;
mod arena;
mod base64;
mod block;
mod block_scalar;
mod change;
mod comment;
mod compose;
pub(crate) mod de;
mod duplicate_keys;
pub mod edit;
mod embedded;
mod equality;
mod field_path;
mod json_conversion;
mod marker;
mod merge;
mod merge_limits;
mod merge_order;
mod parse;
mod scalar;
mod span;
mod syntax_error;
mod text_edit;
mod tree;
pub mod verify;

pub use alias_limit::check_expanded_size;
pub use base64::decode_base64;
pub use block::parse_fast;
pub use change::{Change, Value};
pub use comment::comments;
pub use compose::Composer;
pub use de::{DeError, from_node};
pub use edit::{apply, apply_embedded, plan, plan_each, verify_edits};
pub use embedded::parse_embedded;
pub use field_path::{FieldPath, Step};
pub use json_conversion::{directive_fault, has_cycle, json_fault};
pub use marker::{is_marker, is_touching_separator};
pub use merge_order::{Ambiguity, ambiguities};
pub use parse::{parse, parse_fully, parse_within};
pub use scalar::{Scalar, plain_is_string, resolve_plain};
pub use span::{LineIndex, Position, Span};
pub use syntax_error::SyntaxError;
pub use text_edit::{Edit, EditError, splice};
pub use tree::{Entry, Kind, NodeRef, Style, Tree};
pub use verify::{
    check_brackets, first_document_error, first_document_keys, has_too_many_brackets,
};
