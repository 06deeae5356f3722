//! Workloads in files that kustomizations use as patches: such files are never edited.

use meshprobe_mesh::finding::{Finding, GuardId};
use meshprobe_mesh::kube::ObjectId;
use meshprobe_predict::predict::WorkloadPrediction;

use crate::rewrite::guard::failure::GuardFailure;
use crate::rewrite::unrewritten::unrewritten_handlers;

/// Refuses the workloads that are checked as manifests although a kustomization uses their file as a patch.
pub(super) fn refusals(rendered: &[WorkloadPrediction<'_>]) -> Vec<(ObjectId, Finding)> {
    rendered
        .iter()
        .filter(|prediction| {
            let object = &prediction.workload.object;
            object.document.patch
                && object.rendered_by.is_none()
                && !unrewritten_handlers(prediction).is_empty()
        })
        .map(|prediction| {
            let object = &prediction.workload.object;
            let message = "a kustomization uses its file as a patch";
            let refusal = GuardFailure::new(GuardId::KUSTOMIZE_PATCH, object.name_span(), message)
                .with_help(
                    "rewrite what the overlay builds: `kustomize build DIR | meshprobe rewrite \
                         --context . -`; or remove the file from the patches of the kustomization",
                );
            (object.id(), refusal.finding(prediction))
        })
        .collect()
}
