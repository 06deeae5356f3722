//! YAML text: spanned nodes over the source, the scalar rules of Kubernetes tooling, edits.
//!
//! Knows nothing of Kubernetes.

mod ambiguity;
mod arena;
mod block;
mod block_scalar;
mod change;
mod comment;
mod compose;
pub(crate) mod de;
pub mod edit;
mod embedded;
mod json_conversion;
mod marker;
mod merge;
mod parse;
mod route;
mod same;
mod scalar;
mod span;
mod tab;
mod tree;
pub mod verify;
mod weight;

pub use ambiguity::{
    Ambiguity, AmbiguityKind, ambiguities, encoded_key, hidden_in_comments, hidden_mapping,
    merge_limit, merge_limit_at_root,
};
pub use block::parse_ordinary;
pub use change::{Change, Value};
pub use comment::comments;
pub use compose::Composer;
pub use de::{DeError, from_node};
pub use edit::{Edit, EditError, apply, apply_embedded, plan, plan_each, prove, splice};
pub use embedded::parse_embedded;
pub use json_conversion::{directive_fault, has_cycle, json_fault};
pub use marker::{byte_order_mark_fault, is_marker};
pub use parse::{SyntaxError, parse, parse_fully, parse_within};
pub use route::{Route, Step};
pub use scalar::{Scalar, plain_is_string, resolve_plain};
pub use span::{LineIndex, Position, Span};
pub use tab::tab_fault;
pub use tree::{Entry, Kind, NodeRef, Style, Tree};
pub use verify::{first_document_error, first_document_keys, has_too_many_brackets};
pub use weight::bounded;
