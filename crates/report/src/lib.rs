//! Formats results, one format per file. Every function returns text, and prints nothing.

mod baseline;
pub mod changes;
mod command_report;
mod diff;
mod escape;
mod explanation;
mod finding_groups;
mod frames;
mod full;
mod github;
mod gitlab;
mod html;
mod json;
mod junit;
mod markdown;
mod not_judged;
mod predictions;
mod report_root;
mod results;
mod rules;
mod sarif;
mod summary;
mod symptoms;
mod table;
mod terminal_style;
mod text;
mod wording;

pub use baseline::Baseline;
pub use command_report::Report;
pub use diff::diff;
pub use escape::{
    URI_PATH, code_span, escape_commands, escape_control, fenced_block, inline_markdown, json_safe,
};
pub use explanation::{explain, explanation_markdown};
pub use full::{concise, full};
pub use github::github;
pub use gitlab::gitlab;
pub use html::{html_changes, html_check, html_predict};
pub use json::{CheckReport, PredictReport, json};
pub use json::{FindingEntry, NotJudgedEntry, RelatedEntry};
pub use junit::junit;
pub use markdown::{SUMMARY_LIMIT, markdown};
pub use not_judged::{missing_verdicts, not_judged_lines, not_judged_message};
pub use predictions::{explanations, predictions};
pub use report_root::ReportRoot;
pub use results::Results;
pub use rules::{rule_list, rule_page, rule_summary, rules_json};
pub use sarif::sarif;
pub use summary::{
    Hint, RuleCount, left_out_sentences, rewrite_sum, statistics, statistics_table, summary_line,
    unproven_release_note,
};
pub use symptoms::{SymptomMatch, symptom_list, symptom_page, symptom_probes, symptoms_json};
pub use terminal_style::{TerminalStyle, Tone, wrap};
pub use text::counted;
pub use text::path_of;
pub use wording::Reader;
