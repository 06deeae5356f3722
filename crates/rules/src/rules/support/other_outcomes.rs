//! Finds the environments in which a probe has another outcome than the one that a finding reports.

use std::sync::Arc;

use hashbrown::{HashMap, HashSet};
use meshprobe_mesh::finding::{
    Certainty, DifferentOutcome, Environment, Finding, ObjectRef, ProbeRef,
};
use meshprobe_predict::predict::{
    EnvironmentNames, HandlerPrediction, Outcome, WorkloadPrediction,
};
use meshprobe_tree::source::SourceSet;

use crate::rules::support::chart_objects::SourcePlace;
use crate::rules::support::finding_builder::probe_ref;
use crate::rules::support::overlays::overlay_of;

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
