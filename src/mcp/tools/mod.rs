//! The tools of the server.

mod arguments;
mod check;
mod explain_rule;
mod explain_symptom;
mod input;
mod list;
mod predict;
mod propose_fix;
mod reference;
mod report;
mod schema;
mod tool;
mod what_if;

pub(super) use list::{TOOLS, find};
pub use reference::reference;
pub(super) use tool::{Answer, Call, Tool};
