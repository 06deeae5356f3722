//! Converts intended changes to the smallest byte edits that the layout of the document allows.
//!
//! An edit is a byte range and its replacement. A document is never serialized from a tree, so all other bytes stay
//! unchanged. New text follows the layout of its siblings, or that of the document if it has none.

mod apply;
mod children;
mod diff;
mod emit;
mod emitter;
mod flow;
mod flow_style;
mod insert;
mod intent;
mod json_stream;
mod layout;
mod lines;
mod node_plan;
mod pending_value;
mod plan;
mod quote;
mod remove;
mod reparse;
mod replace_value;
mod shared;
mod verify_edits;
mod writer;

pub use super::text_edit::{Edit, EditError, splice};
pub use apply::{apply, apply_embedded};
pub use plan::{plan, plan_each};
pub use verify_edits::verify_edits;
