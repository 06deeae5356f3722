//! Formats what a rewrite or an undo did with the workloads.

use crate::engine::RewriteCounts;

use super::counted::counted;

/// Returns a sum such as "1 of 6 workloads rewritten, 2 refused, 3 need nothing". `did` is the participle.
#[must_use]
pub fn rewrite_sum(counts: &RewriteCounts, did: &str) -> String {
    let only_previews = counts.previewed > 0 && counts.changed == 0;
    let (first, did, previewed) = if only_previews {
        (counts.previewed, "previewed", 0)
    } else {
        (counts.changed, did, counts.previewed)
    };
    let workloads = counted(counts.workloads, "workload");
    let mut sum = format!("{first} of {workloads} {did}");
    let need = if counts.unneeded == 1 {
        "needs nothing"
    } else {
        "need nothing"
    };
    for (count, what) in [
        (previewed, "previewed"),
        (counts.unwritten, "not written"),
        (counts.refused, "refused"),
        (counts.opted_out, "opted out"),
        (counts.unneeded, need),
    ] {
        if count > 0 {
            sum.push_str(&format!(", {count} {what}"));
        }
    }
    sum
}
