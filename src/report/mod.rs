//! Writes results in one format per file; every function returns text and prints nothing.

mod concise;
mod diff;
mod escape;
mod excerpt;
mod explanation;
mod human;
mod json;
mod look;
mod place;
mod rules;
mod statistics;
mod summary;
mod table;
mod wrap;

pub use concise::concise;
pub use diff::diff;
pub use escape::{json_safe, visible};
pub use explanation::explanations;
pub use human::human;
pub use json::json;
pub use look::{Look, Tone};
pub use rules::{rule_docs, rule_page, rules_json};
pub use statistics::{RuleCount, statistics, statistics_table};
pub use summary::{Hint, counted, summary_line};
pub use table::table;
pub use wrap::wrap;
