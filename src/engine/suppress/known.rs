//! Suppresses findings that the user already knows.

use meshprobe_mesh::finding::{Finding, Suppression};

use crate::engine::fix_history::keep_suppressed_values;
use crate::engine::outcome::Outcome;

/// Suppresses the findings for which `is_known` returns true.
pub fn suppress_known(
    outcome: &mut Outcome,
    by: &Suppression,
    mut is_known: impl FnMut(&Finding) -> bool,
) {
    let findings = std::mem::take(&mut outcome.findings).into_iter();
    let (known, new): (Vec<_>, Vec<_>) = findings.partition(|finding| is_known(finding));
    outcome.findings = new;
    keep_suppressed_values(&known, &mut outcome.findings);
    let suppressed = known.into_iter().map(|mut finding| {
        finding.suppressed = Some(by.clone());
        finding
    });
    outcome.suppressed.extend(suppressed);
    outcome.sort_suppressed();
    outcome.summary.suppressed = outcome.suppressed.len();
    outcome.summary.count_findings(&outcome.findings);
}
