//! HTML: one file that shows each probe with its way, for people. It loads nothing, and is readable without its style and its
//! script.

mod change_item;
mod changes;
mod check;
mod filters;
mod finding_block;
mod lines;
mod markup;
mod overview;
mod page;
mod places;
mod probe_card;
mod run_facts;
mod shared_facts;
mod tiles;
mod tone;
mod way;
mod workload_list;
mod workloads;

pub use changes::html_changes;
pub use check::{html_check, html_predict, html_probes};
