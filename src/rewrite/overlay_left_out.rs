//! Refuses to rewrite the bases of overlays that were left out because renderings would take too much memory: what
//! such an overlay makes of a pod is not known.

use std::sync::Arc;

use crate::context::render::Rendering;
use crate::predict::WorkloadPrediction;

use super::guard::Refusal;

/// The overlays that were left out.
pub(super) struct LeftOut<'t>(Vec<&'t Rendering>);

impl<'t> LeftOut<'t> {
    /// Finds them among all renderings.
    pub(super) fn of(renderings: &'t [Rendering]) -> Self {
        Self(renderings.iter().filter(|one| one.left_out).collect())
    }

    /// Returns a refusal if an overlay that was left out takes in the document of a workload.
    pub(super) fn refusal(&self, plain: &WorkloadPrediction<'_>) -> Option<Refusal> {
        let object = &plain.workload.object;
        let document = (Arc::clone(object.path()), object.document.index);
        // What an ApplicationSet would have deployed is not known: it may be any folder.
        let takes_in = |one: &&&Rendering| one.used.is_empty() || one.used.contains(&document);
        let overlay = self.0.iter().find(takes_in)?.home();
        let message = format!(
            "what {overlay} makes of it is not known, because all renderings together would exceed the memory limit"
        );
        let help = "raise the limit with `--max-rendered 1GiB`, or rewrite fewer overlays at once";
        Some(Refusal::new("kustomize-overlay", object.name_span(), message).with_help(help))
    }
}
