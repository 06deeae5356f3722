//! Refuses to rewrite the bases of kustomizations that cannot be read, because their effect on a pod is
//! unknown.

use meshprobe_deploy::gitops::{UnreadOverlay, unread_overlays};
use meshprobe_deploy::kustomize::Rendering;
use meshprobe_mesh::finding::GuardId;
use meshprobe_predict::predict::WorkloadPrediction;
use meshprobe_tree::source::SourceSet;

use crate::rewrite::guard::failure::GuardFailure;

/// The kustomizations that cannot be read.
pub(super) struct UnreadableOverlays(Vec<UnreadOverlay>);

impl UnreadableOverlays {
    /// Finds the kustomizations that cannot be read among all files.
    pub(super) fn of(sources: &SourceSet, renderings: &[Rendering]) -> Self {
        Self(unread_overlays(sources, renderings))
    }

    /// Returns a refusal if one of them may use the file of a workload.
    pub(super) fn refusal(&self, plain: &WorkloadPrediction<'_>) -> Option<GuardFailure> {
        let object = &plain.workload.object;
        let overlay = self
            .0
            .iter()
            .find(|overlay| overlay.may_take_in(object.path()))?;
        let path = &overlay.path;
        let message = format!(
            "the effect of `{path}` on it is not known: {}",
            overlay.reason
        );
        let help = format!("fix `{path}`, or leave it out with `--exclude {path}`");
        let refusal = GuardFailure::new(GuardId::KUSTOMIZE_OVERLAY, object.name_span(), message);
        Some(refusal.with_help(help))
    }
}
