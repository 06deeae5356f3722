//! Merges notes that hold in the same way for several workloads.

use hashbrown::HashMap;
use meshprobe_mesh::finding::{Finding, RuleId, SharedNote};

/// Merges equal notes into the first of them, which then has the number of workloads. Keeps other findings, and the
/// order.
pub(super) fn merged_notes(findings: Vec<Finding>) -> Vec<Finding> {
    let mut counts: HashMap<(RuleId, SharedNote), usize> = HashMap::new();
    let mut kept = Vec::with_capacity(findings.len());
    for finding in findings {
        if let Some(note) = &finding.shared_note {
            let count = counts.entry((finding.rule, note.clone())).or_default();
            *count += 1;
            if *count > 1 {
                continue;
            }
        }
        kept.push(finding);
    }
    for finding in &mut kept {
        let Some(note) = &finding.shared_note else {
            continue;
        };
        let count = counts.get(&(finding.rule, note.clone()));
        if let Some(count) = count.filter(|count| **count > 1) {
            finding.message = format!("{count} workloads{}", note.many);
            finding.primary.message = "the first of them".to_owned();
        }
    }
    kept
}
