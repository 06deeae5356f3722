//! HTML: one file that shows each probe with its way, for people. It loads nothing, and is readable without its style and its
//! script.

mod changes;
mod check;
mod filters;
mod finding_block;
mod page;
mod probe_card;
mod workloads;

pub use changes::html_changes;
pub use check::{html_check, html_predict};
