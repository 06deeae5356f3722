//! Merges the findings about one base in several overlays into one finding at the line of the base.

use std::sync::Arc;

use hashbrown::HashMap;
use meshprobe_mesh::finding::{Applicability, Environment, Finding, Label, RuleId};
use meshprobe_predict::context::Context;
use meshprobe_predict::predict::{EnvironmentNames, WorkloadPrediction};
use meshprobe_tree::source::{SourceSet, is_kustomization};

use crate::rules::support::chart_objects::{ChartObjects, SourcePlace};

/// Returns the kustomization, or the Flux or Argo CD object, that changes a workload or is one of several that deploy
/// it; `None` if the workload is deployed unchanged.
pub(in crate::rules) fn overlay_of<'p>(
    prediction: &'p WorkloadPrediction<'_>,
) -> Option<&'p Arc<str>> {
    prediction.workload.object.overlay.as_ref()
}

/// Returns whether both workloads have the same overlay, or none.
pub(in crate::rules) fn is_same_overlay(
    a: &WorkloadPrediction<'_>,
    b: &WorkloadPrediction<'_>,
) -> bool {
    overlay_of(a) == overlay_of(b)
}

/// Adds the overlay to a finding, with its name if several render the base, and demotes a fix that would affect more
/// than the overlay of the finding. Without `home`, the overlay is the one that a rule about the whole tree set.
pub(in crate::rules) fn attach_overlay(
    context: &Context<'_>,
    (names, charts): (&EnvironmentNames, &ChartObjects<'_>),
    home: Option<&Arc<str>>,
    mut finding: Finding,
) -> Finding {
    let inventory = &context.inventory;
    if let Some(fix) = &mut finding.fix {
        let uses = inventory
            .uses_of(&fix.path, fix.document)
            .unwrap_or_default();
        let mut labels = finding.related.iter().chain([&finding.primary]);
        if uses.changed && labels.any(|label| is_in_patch(context.sources, label)) {
            // The finding shows the line to change, which may be another one than that of the fix.
            fix.changes.clear();
            fix.limit_to(Applicability::display_only_because(""));
        } else if uses.changed {
            let reason = "a kustomization changes the object";
            fix.limit_to(Applicability::display_only_because(reason));
        } else if uses.count > 1 {
            fix.limit_to(Applicability::unsafe_because(format!(
                "the file is used by {} kustomizations",
                uses.count
            )));
        }
    }
    let uses = inventory
        .uses_of(&finding.primary.path, finding.document)
        .unwrap_or_default();
    let is_shared = uses.count > 1
        || inventory.is_shared(&finding.primary.path, finding.document)
        || charts.has_several(&finding);
    if let Some(home) = home.cloned().or_else(|| finding.overlays.pop()) {
        if is_shared {
            let environment = names.environment(&home, finding.certainty);
            finding.environments.push(environment);
        }
        finding.overlays.push(home);
    }
    finding
}

/// Returns whether a label is in a patch, or in a kustomization, which contains patches and what it sets on all objects.
fn is_in_patch(set: &SourceSet, label: &Label) -> bool {
    let documents = set.file(&label.path).map(|file| &*file.documents);
    let mut documents = documents.unwrap_or_default().iter();
    is_kustomization(&label.path)
        || documents.any(|document| document.patch && document.segment.contains(label.span))
}

/// Merges the findings with the same rule, place and message. The place in a chart is that of the template, if several
/// overlays or clusters deploy the object.
pub(in crate::rules) fn merge(set: &SourceSet, findings: Vec<Finding>) -> Vec<Finding> {
    let mut seen: HashMap<(RuleId, SourcePlace, String), usize> = HashMap::new();
    let mut merged: Vec<Finding> = Vec::with_capacity(findings.len());
    for finding in findings {
        let label = &finding.primary;
        let place = match finding.environments.is_empty() {
            true => SourcePlace::File(Arc::clone(&label.path), label.span),
            false => SourcePlace::of(set, &label.path, label.span, finding.object.as_ref()),
        };
        let key = (finding.rule, place, finding.message.clone());
        match seen.get(&key).and_then(|&index| merged.get_mut(index)) {
            Some(first) => merge_into(set, first, finding),
            None => {
                seen.insert(key, merged.len());
                merged.push(finding);
            }
        }
    }
    merged
}

/// Names the environments of a merged finding that applies to several.
pub(in crate::rules) fn name_environments(names: &EnvironmentNames, finding: &mut Finding) {
    if finding.environments.is_empty() && finding.overlays.len() > 1 {
        let overlays = finding.overlays.iter();
        finding.environments = overlays
            .map(|path| names.environment(path, finding.certainty))
            .collect();
    }
}

fn merge_into(set: &SourceSet, first: &mut Finding, other: Finding) {
    let place = |label: &Label| SourcePlace::of(set, &label.path, label.span, None);
    for label in other.related {
        let mut known = first.related.iter();
        let is_same = |known: &Label| {
            known.message == label.message && (known.is_at(&label) || place(known) == place(&label))
        };
        if !known.any(is_same) {
            first.related.push(label);
        }
    }
    for overlay in other.overlays {
        if !first.overlays.contains(&overlay) {
            first.overlays.push(overlay);
        }
    }
    for environment in other.environments {
        let mut known = first.environments.iter_mut();
        let is_same = |known: &&mut Environment| {
            known.path == environment.path && known.name == environment.name
        };
        match known.find(is_same) {
            Some(known) => known.certainty = known.certainty.max(environment.certainty),
            None => first.environments.push(environment),
        }
    }
    for assumption in other.assumptions {
        if !first.assumptions.contains(&assumption) {
            first.assumptions.push(assumption);
        }
    }
    if other.suppressed.is_none() {
        // Suppressed in one overlay only.
        first.suppressed = None;
    }
    first.severity = first.severity.max(other.severity);
    first.certainty = first.certainty.max(other.certainty);
}
