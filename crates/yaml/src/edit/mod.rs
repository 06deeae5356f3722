//! Converts intended changes to the smallest byte edits that the layout of the document allows.
//!
//! An edit is a byte range and its replacement. A document is never serialized from a tree, so all other bytes stay
//! unchanged. New text follows the layout of its siblings, or that of the document if it has none.

mod apply;
mod chain_edits;
mod children;
mod copy;
mod diff;
mod emit;
mod emitter;
mod flow;
mod flow_style;
mod inline_shared;
mod insert;
mod intent;
mod isolate;
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
mod verify_edits;
mod writer;

pub use super::text_edit::{Edit, EditError, splice};
pub use apply::{apply, apply_embedded};
pub use plan::{plan, plan_each};
pub use verify_edits::verify_edits;
