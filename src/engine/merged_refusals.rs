//! Merges the refusals of one workload into one finding.

use std::sync::Arc;

use hashbrown::HashMap;
use meshprobe_mesh::finding::Finding;

/// Merges the refusals of each workload into the first of them, which then lists all reasons. Keeps other findings, and
/// the order.
pub(super) fn merged_refusals(findings: Vec<Finding>) -> Vec<Finding> {
    let mut groups: Vec<Vec<Finding>> = Vec::with_capacity(findings.len());
    let mut known = HashMap::new();
    for finding in findings {
        match group_of(&finding) {
            Some(key) => {
                let at = *known.entry(key).or_insert(groups.len());
                match groups.get_mut(at) {
                    Some(group) => group.push(finding),
                    None => groups.push(vec![finding]),
                }
            }
            None => groups.push(vec![finding]),
        }
    }
    groups.into_iter().filter_map(merged).collect()
}

/// Returns the workload of a refusal, and the start of its message; `None` for other findings.
fn group_of(finding: &Finding) -> Option<impl Eq + std::hash::Hash + use<>> {
    let start = finding.refusal.as_ref()?.start.clone();
    let path = Arc::clone(&finding.primary.path);
    let object = finding.object.clone();
    Some((path, finding.document, object, start))
}

fn merged(group: Vec<Finding>) -> Option<Finding> {
    let mut helps: Vec<String> = Vec::new();
    for help in group.iter().filter_map(|finding| finding.help.as_ref()) {
        if !helps.contains(help) {
            helps.push(help.clone());
        }
    }
    let reasons: Vec<String> = group.iter().enumerate().map(numbered_reason).collect();
    let mut group = group.into_iter();
    let mut first = group.next()?;
    if reasons.len() == 1 {
        return Some(first);
    }
    let start = first.refusal.as_ref().map(|refusal| &*refusal.start);
    first.message = format!("{}{}", start.unwrap_or_default(), reasons.join("; "));
    first.primary.message = "(1)".to_owned();
    for (at, other) in (2..).zip(group) {
        let mut label = other.primary;
        label.message = format!("({at}) `{}`", other.rule);
        first.related.push(label);
        first.related.extend(other.related);
        first.severity = first.severity.max(other.severity);
        first.certainty = first.certainty.max(other.certainty);
    }
    first.help = (!helps.is_empty()).then(|| helps.join("; "));
    Some(first)
}

fn numbered_reason((at, finding): (usize, &Finding)) -> String {
    let refusal = finding.refusal.as_ref();
    let reason = refusal.map_or(&finding.message, |refusal| &refusal.reason);
    format!("({}) {reason}", at + 1)
}
