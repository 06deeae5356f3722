//! Counts what settings and suppressions hide from a report, for all summaries.

use meshprobe_mesh::finding::names_and_more;
use meshprobe_tree::source::SourceSet;

use super::counted::counted;
use super::escape::escape_control;
use crate::engine::{Summary, unread_context};

/// The maximum number of files that a sentence names.
const NAMED: usize = 3;

/// Returns phrases with the number of findings that are not shown.
pub(super) fn not_shown(summary: &Summary) -> Vec<String> {
    let parts = [
        (summary.suppressed, "suppressed"),
        (summary.ignored, "ignored by the settings"),
        (summary.hidden, "below `--min-severity`"),
    ];
    parts
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, reason)| format!("{} {reason}", counted(count, "finding")))
        .collect()
}

/// Returns sentences about findings that a report does not show, or shows with another severity, and about missing facts.
#[must_use]
pub fn left_out_sentences(set: &SourceSet, summary: &Summary) -> Vec<String> {
    let not_shown = not_shown(summary);
    let not_shown =
        (!not_shown.is_empty()).then(|| format!("Not shown: {}.", not_shown.join(", ")));
    not_shown.into_iter().chain(milder(set, summary)).collect()
}

/// Returns sentences about findings with a changed severity, about missing facts, and about facts of a configuration.
pub(super) fn milder(set: &SourceSet, summary: &Summary) -> Vec<String> {
    let changed = counted(summary.severity_changed, "finding");
    let unread = counted(summary.context.unread, "file");
    let sentences = [
        (
            summary.severity_changed,
            format!("Severity changed by the settings: {changed}."),
        ),
        (
            summary.context.unread,
            format!(
                "Facts may be missing: {unread} of the repository, outside of the given paths, cannot be read{}.",
                unread_names(set)
            ),
        ),
    ];
    let configured = summary.configured.iter().map(|configured| {
        let (file, count) = (escape_control(&configured.file), configured.predictions);
        let predictions = counted(count, "prediction");
        let sentence = format!(
            "Facts in the configuration `{file}`: {predictions} would have another outcome without them."
        );
        (count, sentence)
    });
    sentences
        .into_iter()
        .chain(configured)
        .filter(|(count, _)| *count > 0)
        .map(|(_, sentence)| sentence)
        .collect()
}

/// Returns the names of the files that may contain facts and cannot be read, after a colon.
fn unread_names(set: &SourceSet) -> String {
    let files = unread_context(set);
    let names = files
        .iter()
        .map(|file| format!("`{}`", escape_control(&file.path)));
    let names = names_and_more(names, NAMED);
    let hint = match files.len() > NAMED {
        true => " (`--verbose` lists all files)",
        false => "",
    };
    format!(": {names}{hint}")
}
