//! The place of a finding about the whole tree.

use meshprobe_mesh::finding::Finding;

use crate::rules::RuleContext;

/// Returns one of several findings of which one is enough: the first place that is reported, if any is. The others are in
/// files that are only read for facts.
pub(in crate::rules) fn first_reported(
    cx: &RuleContext<'_, '_>,
    findings: impl Iterator<Item = Finding>,
) -> Option<Finding> {
    let mut all: Vec<Finding> = findings.collect();
    all.sort_by(|a, b| (&a.primary.path, a.primary.span).cmp(&(&b.primary.path, b.primary.span)));
    let reported = all.iter().position(|finding| cx.context.reports(finding));
    let first = reported.unwrap_or_default();
    (first < all.len()).then(|| all.swap_remove(first))
}
