//! What the settings, suppressions and ignore files kept out of a report: every summary counts it.

use crate::engine::Summary;

use super::summary::counted;

/// Lists what was found and is not shown, one phrase each.
pub(super) fn not_shown(summary: &Summary) -> Vec<String> {
    let parts = [
        (summary.suppressed, "silenced by the user"),
        (summary.ignored, "ignored by the settings"),
        (summary.hidden, "below `--min-severity`"),
    ];
    let parts = parts.into_iter().filter(|(count, _)| *count > 0);
    let parts = parts.map(|(count, why)| format!("{} {why}", counted(count, "finding")));
    parts.collect()
}

/// Lists everything that a report does not show or shows milder, one sentence each.
#[must_use]
pub fn left_out_sentences(summary: &Summary) -> Vec<String> {
    let not_shown = not_shown(summary);
    let not_shown =
        (!not_shown.is_empty()).then(|| format!("Not shown: {}.", not_shown.join(", ")));
    not_shown.into_iter().chain(milder(summary)).collect()
}

/// Lists what else makes a report milder than the manifests are, one sentence each.
pub(super) fn milder(summary: &Summary) -> Vec<String> {
    let changed = counted(summary.severity_changed, "finding");
    let hidden = counted(summary.tracked_hidden, "tracked manifest");
    let sentences = [
        (
            summary.severity_changed,
            format!("Severity changed by the settings: {changed}."),
        ),
        (
            summary.tracked_hidden,
            format!("Not checked because an ignore file hides it: {hidden}."),
        ),
    ];
    let sentences = sentences.into_iter().filter(|(count, _)| *count > 0);
    sentences.map(|(_, sentence)| sentence).collect()
}
