//! Refuses to rewrite the bases of overlays that were left out because they exceed a limit: the effect of such an
//! overlay on a pod is not known.

use std::sync::Arc;

use meshprobe_deploy::kustomize::{Limit, Rendering};
use meshprobe_mesh::finding::GuardId;
use meshprobe_predict::predict::WorkloadPrediction;

use crate::rewrite::guard::failure::GuardFailure;

/// The overlays that were left out.
pub(super) struct LeftOut<'t>(Vec<(Limit, &'t Rendering)>);

impl<'t> LeftOut<'t> {
    /// Finds the overlays that were left out among all renderings.
    pub(super) fn of(renderings: &'t [Rendering]) -> Self {
        Self(
            renderings
                .iter()
                .filter_map(|rendering| Some((rendering.left_out?, rendering)))
                .collect(),
        )
    }

    /// Returns a refusal if an overlay that was left out uses the document of a workload.
    pub(super) fn refusal(&self, plain: &WorkloadPrediction<'_>) -> Option<GuardFailure> {
        let object = &plain.workload.object;
        let document = (Arc::clone(object.path()), object.document.index);
        let uses_document = |(_, rendering): &&(Limit, &Rendering)| {
            if !rendering.used.is_empty() {
                return rendering.used.contains(&document);
            }
            // It is not known what an ApplicationSet would have deployed: it may be any folder.
            let deployed = rendering.deployed.as_ref();
            deployed.is_none_or(|deployed| deployed.contains(object.path()))
        };
        let (limit, overlay) = self.0.iter().find(uses_document)?;
        let overlay = overlay.declaring_file();
        let message = format!("the effect of `{overlay}` on it is not known, because {limit}");
        let help = limit.help("rewrite");
        Some(
            GuardFailure::new(GuardId::KUSTOMIZE_OVERLAY, object.name_span(), message)
                .with_help(help),
        )
    }
}
