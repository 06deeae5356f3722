//! Workloads that the given paths deploy, but whose files are not in these paths: such files are never edited.

use std::collections::{BTreeMap, BTreeSet};

use meshprobe_mesh::finding::GuardId;
use meshprobe_mesh::kube::ObjectKey;
use meshprobe_predict::predict::WorkloadPrediction;

use crate::rewrite::guard::failure::GuardFailure;
use crate::rewrite::plan::{Decision, Direction, Plan, RewriteInput};
use crate::rewrite::unrewritten::unrewritten_handlers;
use crate::rewrite::{pod, preview};

/// Adds the decisions about these workloads to a plan. Those that a rewrite or an undo would change if their files were in
/// the given paths are refused.
pub(super) fn decide(plan: &mut Plan, seen: &RewriteInput<'_, '_>) {
    let not_given: BTreeSet<ObjectKey<'_>> = seen
        .plain
        .iter()
        .filter(|base| !base.is_target)
        .map(|base| base.workload.object.key())
        .collect();
    let direction = plan.direction;
    let mut refusals = BTreeMap::new();
    for deployed in seen.rendered.iter().filter(|pod| pod.is_target) {
        let object = &deployed.workload.object;
        if !not_given.contains(&object.key()) {
            continue;
        }
        if needs_change(deployed, direction) {
            refusals
                .entry(object.id())
                .or_insert_with(|| direction.finding(refusal(deployed), deployed));
        } else if is_opted_out(seen, deployed, direction) {
            plan.decisions.insert(object.id(), Decision::OptOut);
        } else {
            let decisions = &mut plan.decisions;
            decisions.entry(object.id()).or_insert(Decision::Nothing);
        }
    }
    for (workload, refusal) in refusals {
        plan.refuse(workload, refusal);
    }
}

fn needs_change(pod: &WorkloadPrediction<'_>, direction: Direction) -> bool {
    match direction {
        Direction::Rewrite => {
            preview::needs_rewrite(pod).unwrap_or_else(|| !unrewritten_handlers(pod).is_empty())
        }
        Direction::Undo => pod.is_prerewritten(),
    }
}

/// Returns whether the owner of a workload that needs no change has switched the rewrite off.
fn is_opted_out(
    seen: &RewriteInput<'_, '_>,
    pod: &WorkloadPrediction<'_>,
    direction: Direction,
) -> bool {
    let decision = || {
        let injected_as = (seen.overlaid, &pod.workload);
        let outcome = pod::rewrite(seen.overlaid, injected_as, pod);
        Decision::unchanged(&outcome.findings)
    };
    direction == Direction::Rewrite && decision() == Decision::OptOut
}

fn refusal(pod: &WorkloadPrediction<'_>) -> GuardFailure {
    let path = pod.workload.object.path();
    let message = format!("`{path}` is not in the given paths, and is only read as context");
    GuardFailure::new(
        GuardId::CONTEXT_ONLY,
        pod.workload.object.name_span(),
        message,
    )
    .with_help(format!("to edit it, add `{path}` to the paths"))
}
