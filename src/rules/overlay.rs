//! Findings about what kustomizations make of a base: the base's line, and the overlays.

use std::sync::Arc;

use hashbrown::HashMap;

use crate::context::Context;
use crate::finding::{Applicability, Finding, Label};
use crate::predict::WorkloadPrediction;
use crate::yaml::{NodeRef, Span};

/// Returns what tells a workload from others of its document; `None` for one that stands for
/// itself.
pub(super) fn of<'t>(prediction: &WorkloadPrediction<'t>) -> Option<&'t Arc<str>> {
    prediction.workload.object.overlay
}

/// Tells whether two workloads come out of one overlay; one file may hold several.
pub(super) fn is_one(a: &WorkloadPrediction<'_>, b: &WorkloadPrediction<'_>) -> bool {
    match (of(a), of(b)) {
        (Some(a), Some(b)) => std::ptr::eq(a, b),
        (a, b) => a.is_none() && b.is_none(),
    }
}

/// Names the overlay where the base has several, and keeps fixes from reaching further than the
/// finding does.
pub(super) fn place(
    context: &Context<'_>,
    home: Option<&Arc<str>>,
    mut finding: Finding,
) -> Finding {
    let inventory = &context.inventory;
    if let Some(fix) = &mut finding.fix {
        let uses = inventory
            .uses_of(&fix.path, fix.document)
            .unwrap_or_default();
        if uses.changed {
            // The text that was judged is not that of the file.
            fix.applicability = Applicability::DisplayOnly;
        } else if uses.count > 1 {
            fix.applicability = fix.applicability.max(Applicability::Unsafe);
        }
    }
    let uses = inventory
        .uses_of(&finding.primary.path, finding.document)
        .unwrap_or_default();
    finding.overlays.extend(home.map(Arc::clone));
    if let Some(home) = home
        && uses.count > 1
    {
        let message = "in this overlay".to_owned();
        let span = first_key(context, home);
        finding.related.push(Label {
            path: Arc::clone(home),
            span,
            message,
        });
    }
    finding
}

pub(super) fn first_key(context: &Context<'_>, path: &str) -> Span {
    let documents = context
        .sources
        .file(path)
        .into_iter()
        .flat_map(|file| &file.documents);
    let root = documents
        .filter_map(|document| document.tree())
        .find_map(|tree| tree.root());
    let entry = root.into_iter().flat_map(NodeRef::entries).next();
    entry.map_or_else(Span::default, |entry| entry.key.span())
}

/// What is said of the same place in the same words becomes one finding.
pub(super) fn merged(findings: Vec<Finding>) -> Vec<Finding> {
    let mut seen: HashMap<(&'static str, Arc<str>, Span, String), usize> = HashMap::new();
    let mut merged: Vec<Finding> = Vec::with_capacity(findings.len());
    for finding in findings {
        let place = &finding.primary;
        let key = (
            finding.rule,
            Arc::clone(&place.path),
            place.span,
            finding.message.clone(),
        );
        match seen.get(&key).and_then(|&index| merged.get_mut(index)) {
            Some(first) => absorb(first, finding),
            None => {
                seen.insert(key, merged.len());
                merged.push(finding);
            }
        }
    }
    merged
}

fn absorb(first: &mut Finding, other: Finding) {
    for label in other.related {
        if !first.related.contains(&label) {
            first.related.push(label);
        }
    }
    for overlay in other.overlays {
        if !first.overlays.contains(&overlay) {
            first.overlays.push(overlay);
        }
    }
    for assumption in other.assumptions {
        if !first.assumptions.contains(&assumption) {
            first.assumptions.push(assumption);
        }
    }
    if other.suppressed.is_none() {
        // Silenced in one overlay only.
        first.suppressed = None;
    }
    first.severity = first.severity.max(other.severity);
    first.certainty = first.certainty.max(other.certainty);
}
