//! Workloads that the given paths deploy, but whose files are not in these paths: such files are never edited.

use std::collections::{BTreeMap, BTreeSet};

use crate::finding::{Finding, GuardId};
use crate::kube::{ObjectId, ObjectKey};
use crate::predict::WorkloadPrediction;

use crate::rewrite::guard::failure::GuardFailure;
use crate::rewrite::plan::{Direction, RewriteInput};
use crate::rewrite::preview;
use crate::rewrite::unrewritten::unrewritten_handlers;

/// Refuses the workloads that a rewrite or an undo would change if their files were in the given paths.
pub(super) fn refusals(
    seen: &RewriteInput<'_, '_>,
    direction: Direction,
) -> BTreeMap<ObjectId, Finding> {
    let not_given: BTreeSet<ObjectKey<'_>> = seen
        .plain
        .iter()
        .filter(|base| !base.is_target)
        .map(|base| base.workload.object.key())
        .collect();
    let needs_change = |pod: &WorkloadPrediction<'_>| match direction {
        Direction::Rewrite => {
            preview::needs_rewrite(pod).unwrap_or_else(|| !unrewritten_handlers(pod).is_empty())
        }
        Direction::Undo => pod.is_prerewritten(),
    };
    let mut refusals = BTreeMap::new();
    for deployed in seen.rendered.iter().filter(|pod| pod.is_target) {
        let object = &deployed.workload.object;
        if not_given.contains(&object.key()) && needs_change(deployed) {
            refusals
                .entry(object.id())
                .or_insert_with(|| direction.finding(refusal(deployed), deployed));
        }
    }
    refusals
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
