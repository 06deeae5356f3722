//! Findings about one object in several overlays or clusters: they are merged, with the environments that they apply to.

use std::sync::Arc;

use hashbrown::{HashMap, HashSet};
use meshprobe_mesh::finding::{
    Applicability, Certainty, DifferentOutcome, Environment, Finding, Label, ObjectRef, ProbeRef,
    RuleId,
};
use meshprobe_predict::context::Context;
use meshprobe_predict::predict::{
    EnvironmentNames, HandlerPrediction, Outcome, WorkloadPrediction,
};
use meshprobe_tree::source::{SourceSet, chart_of_output, is_kustomization};
use meshprobe_yaml::{Position, Span};

use crate::rules::support::finding_builder::probe_ref;

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

/// The place of a text, which is the same in all outputs of a chart.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum SourcePlace {
    /// The path of a file, and a part of it.
    File(Arc<str>, Span),
    /// The path of a template, the start and the end of the part, and the object that it renders.
    Template(Arc<str>, (Position, Position), Option<ObjectRef>),
}

impl SourcePlace {
    /// Returns the place of a part of a file. `object` is the object that contains it.
    pub(in crate::rules) fn of(
        set: &SourceSet,
        path: &Arc<str>,
        span: Span,
        object: Option<&ObjectRef>,
    ) -> Self {
        let source = chart_of_output(path).and_then(|_| set.source_of(path, span));
        match source.and_then(|source| Some((source.path, source.place?))) {
            Some((template, place)) => Self::Template(template, place, object.cloned()),
            None => Self::File(Arc::clone(path), span),
        }
    }
}

/// The overlays and clusters that deploy each object of a chart.
#[derive(Debug, Default)]
pub(in crate::rules) struct ChartObjects<'p>(HashMap<(&'p str, ObjectRef), HashSet<&'p Arc<str>>>);

impl<'p> ChartObjects<'p> {
    /// Collects the workloads of the charts of a run.
    pub(in crate::rules) fn of(predictions: &'p [WorkloadPrediction<'_>]) -> Self {
        let mut objects = Self::default();
        for pod in predictions {
            let object = &pod.workload.object;
            if let (Some(folder), Some(overlay)) =
                (chart_of_output(&object.document.path), &object.overlay)
            {
                let key = (folder, object.reference());
                objects.0.entry(key).or_default().insert(overlay);
            }
        }
        objects
    }

    /// Returns whether several overlays or clusters deploy the object of a finding.
    pub(in crate::rules) fn has_several(&self, finding: &Finding) -> bool {
        let folder = chart_of_output(&finding.primary.path);
        folder
            .zip(finding.object.clone())
            .and_then(|key| self.0.get(&key))
            .is_some_and(|overlays| overlays.len() > 1)
    }
}

/// The place of the key of a probe, and the name of the probe.
type ProbeKey = (SourcePlace, String);

/// The outcome of a probe in one environment.
#[derive(Debug)]
struct Rendered<'p> {
    overlay: &'p Arc<str>,
    outcome: Outcome,
    certainty: Certainty,
}

/// The outcomes of all probes that several overlays or clusters deploy.
#[derive(Debug, Default)]
pub(in crate::rules) struct OtherOutcomes<'p>(HashMap<ProbeKey, Vec<Rendered<'p>>>);

impl<'p> OtherOutcomes<'p> {
    /// Collects the outcomes of all predictions.
    pub(in crate::rules) fn of(set: &SourceSet, predictions: &'p [WorkloadPrediction<'_>]) -> Self {
        let mut outcomes = Self::default();
        for pod in predictions {
            let Some(overlay) = overlay_of(pod) else {
                continue;
            };
            let object = pod.workload.object.reference();
            for handler in &pod.handlers {
                let probe = probe_ref(pod, handler);
                let key = key(set, &probe, Some(&object));
                let rendered = outcomes.0.entry(key).or_default();
                rendered.push(Rendered {
                    overlay,
                    outcome: handler.verdict.outcome,
                    certainty: certainty(handler),
                });
            }
        }
        outcomes
    }

    /// Adds the environments in which the probe of a merged finding has another outcome, and those of the finding if there
    /// are any.
    pub(in crate::rules) fn attach(
        &self,
        set: &SourceSet,
        names: &EnvironmentNames,
        finding: &mut Finding,
    ) {
        let (Some(probe), Some(outcome)) = (&finding.probe, finding.outcome) else {
            return;
        };
        let key = key(set, probe, finding.object.as_ref());
        let Some(rendered) = self.0.get(&key) else {
            return;
        };
        let affected: HashSet<&Arc<str>> = finding.overlays.iter().collect();
        // A note about another value of a fact reports an outcome that the probe does not have here.
        let is_actual = rendered.iter().any(|rendered| {
            affected.contains(rendered.overlay)
                && rendered.outcome.is_bad()
                && rendered.outcome.as_str() == outcome
        });
        if !is_actual {
            return;
        }
        // One file may define several overlays.
        let mut seen = affected;
        let differing: Vec<Environment> = rendered
            .iter()
            .filter(|rendered| {
                rendered.outcome.as_str() != outcome && seen.insert(rendered.overlay)
            })
            .map(|rendered| Environment {
                differs: Some(DifferentOutcome {
                    id: rendered.outcome.as_str(),
                    phrase: phrase(rendered.outcome),
                }),
                ..names.environment(rendered.overlay, rendered.certainty)
            })
            .collect();
        if !differing.is_empty() && finding.environments.is_empty() {
            let affected = finding.overlays.iter();
            finding.environments = affected
                .map(|path| names.environment(path, finding.certainty))
                .collect();
        }
        finding.environments.extend(differing);
    }
}

/// Returns the certainty of the outcome of a handler. An unknown outcome is never certain.
fn certainty(handler: &HandlerPrediction) -> Certainty {
    match handler.verdict.outcome {
        Outcome::Unknown => Certainty::Unknown,
        _ => handler.verdict.certainty,
    }
}

fn key(set: &SourceSet, probe: &ProbeRef, object: Option<&ObjectRef>) -> ProbeKey {
    let place = SourcePlace::of(set, &probe.path, probe.span, object);
    (place, probe.title.clone())
}

/// Returns the verb phrase that precedes "in" and the names of environments.
const fn phrase(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Ok => "works",
        Outcome::Fails => "fails",
        Outcome::AlwaysPasses => "always succeeds",
        Outcome::TargetChanged => "checks something else",
        Outcome::Refused => "is refused",
        Outcome::InvalidManifest => "is broken even without a mesh",
        Outcome::NotInMesh => "is not in the mesh",
        Outcome::Unknown => "has an unknown outcome",
    }
}
