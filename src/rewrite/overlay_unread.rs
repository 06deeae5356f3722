//! Refuses to rewrite the bases of kustomizations that cannot be read or are hidden, because their effect on a pod is
//! unknown.

use crate::context::render::{Rendering, UnreadOverlay, unread_overlays};
use crate::predict::WorkloadPrediction;
use crate::source::SourceSet;

use super::guard::Refusal;

/// The kustomizations that cannot be read.
pub(super) struct Unread(Vec<UnreadOverlay>);

impl Unread {
    /// Finds them among all files.
    pub(super) fn of(sources: &SourceSet, renderings: &[Rendering]) -> Self {
        Self(unread_overlays(sources, renderings))
    }

    /// Returns a refusal if one of them may take in the file of a workload.
    pub(super) fn refusal(&self, plain: &WorkloadPrediction<'_>) -> Option<Refusal> {
        let object = &plain.workload.object;
        let mut overlays = self.0.iter();
        let overlay = overlays.find(|one| one.may_take_in(object.path()))?;
        let path = &overlay.path;
        let message = format!("what `{path}` makes of it is not known: {}", overlay.reason);
        let fix = match overlay.is_hidden {
            true => "read it with `--no-ignore`".to_owned(),
            false => format!("fix `{path}`"),
        };
        let help = format!("{fix}, or leave it out with `--exclude {path}`");
        let refusal = Refusal::new("kustomize-overlay", object.name_span(), message);
        Some(refusal.with_help(help))
    }
}
