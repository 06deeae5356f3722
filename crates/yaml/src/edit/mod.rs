//! Converts intended changes to the smallest byte edits that the layout of the document allows.
//!
//! An edit is a byte range and its replacement. A document is never serialized from a tree, so all other bytes stay
//! unchanged. New text follows the layout of its siblings, or that of the document if it has none.

mod diff;
mod emit;
mod flow;
mod insert;
mod intent;
mod layout;
mod node_plan;
mod plan;
mod replace_value;
mod writer;

pub use crate::span::{Edit, EditError, splice};
pub use plan::{apply, apply_embedded, plan, plan_each, verify_edits};
