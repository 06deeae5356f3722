//! Workloads in files that kustomizations use as patches: such files are never edited.

use crate::finding::Finding;
use crate::predict::WorkloadPrediction;

use super::guard::Refusal;
use super::outstanding;

/// Refuses the workloads that are checked as manifests although a kustomization uses their file as a patch.
pub(super) fn refusals(rendered: &[WorkloadPrediction<'_>]) -> Vec<Finding> {
    let of_patches = rendered.iter().filter(|one| {
        let object = &one.workload.object;
        object.document.patch && object.rendered_by.is_none() && !outstanding(one).is_empty()
    });
    of_patches
        .map(|one| {
            let object = &one.workload.object;
            let message = "a kustomization uses its file as a patch";
            Refusal::new("kustomize-patch", object.name_span(), message)
                .with_help(
                    "rewrite what the overlay builds: `kustomize build DIR | meshprobe rewrite -`; or remove the \
                     file from the patches of the kustomization",
                )
                .finding(one)
        })
        .collect()
}
