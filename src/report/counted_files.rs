//! Counts the files of a run for summaries: those with findings, and all that were checked.

use std::collections::BTreeSet;
use std::sync::Arc;

use meshprobe_tree::source::{Role, SourceSet};

use super::counted::counted;
use super::not_judged::not_judged_suffix;
use super::source_location::source_path;
use crate::engine::Outcome;

/// Returns the number of files with findings, and what was judged, such as "2 of 12 files (3 workloads, 6 handlers)".
/// Without findings, it is the number of files that were checked: "12 files (3 workloads, 6 handlers)".
pub(super) fn counted_files(set: &SourceSet, outcome: &Outcome) -> String {
    let summary = &outcome.summary;
    format!(
        "{} ({}, {}{})",
        files(set, outcome),
        counted(summary.workloads, "workload"),
        counted(summary.handlers, "handler"),
        not_judged_suffix(outcome),
    )
}

fn files(set: &SourceSet, outcome: &Outcome) -> String {
    let checked = outcome.summary.files.read;
    let findings = outcome.findings.iter();
    let with_findings: BTreeSet<Arc<str>> = findings
        .map(|finding| source_path(set, &finding.primary))
        .collect();
    // A finding may be in a file that the user did not give, such as the base of an overlay.
    let is_checked = |path: &Arc<str>| set.file(path).is_some_and(|file| file.role == Role::Target);
    match with_findings.len() {
        0 => counted(checked, "file"),
        count if count < checked && with_findings.iter().all(is_checked) => {
            format!("{count} of {checked} files")
        }
        count => counted(count, "file"),
    }
}
