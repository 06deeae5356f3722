//! Runs the layers below over a set of files: load, judge, fix, rewrite, write.
//!
//! Nothing here prints or exits. Threads are never visible: files are sorted before and findings
//! after every step that runs in parallel.

mod addition;
mod ambiguous_config;
mod attributes;
mod baseline;
mod changed;
mod check;
mod data;
mod emit;
mod exit;
mod fix;
mod guard;
mod guards;
mod halving;
mod left_out;
mod levels;
mod load;
mod machine;
mod mirror;
mod notices;
mod output_folder;
mod panic_report;
mod place_fixes;
#[cfg(debug_assertions)]
pub mod planted_panic;
mod problems;
mod replace;
mod required;
mod reversible;
mod rewrite;
mod route_set;
mod summary;
mod suppress;
mod touched;
mod unrendered;
mod write;

pub use ambiguous_config::ambiguous_configs;
pub use baseline::{Baseline, add_ignore};
pub use changed::Changed;
pub use check::{Outcome, check, not_followed};
pub use exit::{Exit, failing};
pub use fix::{Fixed, fix};
pub use guard::{Judged, judge};
pub use guards::{GUARDS, is_guard, refuses};
pub use load::{load, unread_paths};
pub use machine::{MadeFile, MadeFiles, mesh_yamls, with_groups, workload_groups, write_made};
pub use mirror::{Mirror, is_earlier_copy, mirror_all};
pub use notices::{NOTICES, Notice, check_ids, explained, rule_ids};
pub use panic_report::{PanicReport, catch_panic, how_to_report, record_panic};
pub use problems::{broken_texts, problems};
pub use rewrite::{Rewritten, proxies, rewrite, undo};
pub use summary::{FileCounts, Gaps, Summary};
pub use write::{WriteFailure, append_report, is_read, write_all, write_report};
