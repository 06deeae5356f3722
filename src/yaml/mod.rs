//! YAML text: spanned nodes over the source, the scalar rules of Kubernetes tooling, edits.
//!
//! Knows nothing of Kubernetes.

mod change;
mod parse;
mod route;
mod scalar;
mod span;
mod tree;

pub use change::{Change, Value};
pub use parse::{SyntaxError, parse};
pub use route::{Route, Step};
pub use scalar::{Scalar, plain_is_string, resolve_plain};
pub use span::{LineIndex, Position, Span};
pub use tree::{Entry, Kind, NodeRef, Style, Tree};
