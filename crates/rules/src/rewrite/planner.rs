//! Plans the rewrite of all workloads.

use std::collections::BTreeSet;

use meshprobe_predict::context::Dataplane;
use meshprobe_predict::predict::WorkloadPrediction;

use crate::rewrite::overlay::{OverlayResult, Overlays};
use crate::rewrite::plan::{Plan, RewriteInput};
use crate::rewrite::pod_outcome::PodOutcome;
use crate::rewrite::unrewritten::unrewritten_handlers;
use crate::rewrite::{not_given, overlay, patch_file, pod};

/// Plans the rewrite of every target workload.
#[must_use]
pub fn plan(seen: &RewriteInput<'_, '_>) -> Plan {
    let mut plan = Plan::default();
    let overlays = Overlays::new(seen, plan.direction);
    // A file that several clusters deploy has one prediction per cluster, but is written once.
    let mut planned = BTreeSet::new();
    not_given::decide(&mut plan, seen);
    for (workload, refusal) in patch_file::refusals(seen.rendered) {
        plan.refuse(workload, refusal);
    }
    for prediction in seen.plain.iter().filter(|prediction| prediction.is_target) {
        let object = &prediction.workload.object;
        if !planned.insert((object.path(), object.document.index, &object.route)) {
            continue;
        }
        let outcome = match overlay::overlaid(prediction, &overlays) {
            OverlayResult::Plain => {
                let injected_as = (seen.context, &prediction.workload);
                pod::rewrite(seen.context, injected_as, prediction)
            }
            OverlayResult::CompatibleOverlay(agreed) => {
                let injected_as = (seen.overlaid, &agreed.rendered);
                pod::rewrite(seen.context, injected_as, &agreed.prediction)
            }
            OverlayResult::Refused(refusal) => {
                // An overlay may add handlers that the file does not contain.
                let is_due = |seen: &WorkloadPrediction<'_>| {
                    seen.dataplane.value == Dataplane::Sidecar
                        && !unrewritten_handlers(seen).is_empty()
                };
                let is_needed =
                    pod::needs_rewrite(prediction) || overlays.of(prediction).any(is_due);
                PodOutcome::left(is_needed.then(|| refusal.finding(prediction)))
            }
        };
        plan.add(prediction, outcome.changes, outcome.findings);
    }
    plan
}
