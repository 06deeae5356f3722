//! Refuses to rewrite the bases of overlays that were left out because they exceed a limit: what such an overlay
//! makes of a pod is not known.

use std::sync::Arc;

use crate::context::render::{Limit, Rendering};
use crate::predict::WorkloadPrediction;

use super::guard::Refusal;

/// The overlays that were left out.
pub(super) struct LeftOut<'t>(Vec<(Limit, &'t Rendering)>);

impl<'t> LeftOut<'t> {
    /// Finds them among all renderings.
    pub(super) fn of(renderings: &'t [Rendering]) -> Self {
        Self(
            renderings
                .iter()
                .filter_map(|one| Some((one.left_out?, one)))
                .collect(),
        )
    }

    /// Returns a refusal if an overlay that was left out takes in the document of a workload.
    pub(super) fn refusal(&self, plain: &WorkloadPrediction<'_>) -> Option<Refusal> {
        let object = &plain.workload.object;
        let document = (Arc::clone(object.path()), object.document.index);
        let takes_in = |(_, one): &&(Limit, &Rendering)| {
            if !one.used.is_empty() {
                return one.used.contains(&document);
            }
            // What an ApplicationSet would have deployed is not known: it may be any folder.
            let deployed = one.deployed.as_ref();
            deployed.is_none_or(|deployed| deployed.contains(object.path()))
        };
        let (limit, overlay) = self.0.iter().find(takes_in)?;
        let overlay = overlay.home();
        let message = format!("what {overlay} makes of it is not known, because {limit}");
        let help = limit.help("rewrite");
        Some(Refusal::new("kustomize-overlay", object.name_span(), message).with_help(help))
    }
}
