//! Refuses to rewrite files that a generator of a kustomization copies: the content of the generated object would change.

use std::sync::Arc;

use hashbrown::HashMap;
use meshprobe_deploy::kustomize::{GeneratedFrom, generator_files};
use meshprobe_mesh::finding::GuardId;
use meshprobe_predict::predict::WorkloadPrediction;
use meshprobe_tree::source::SourceSet;

use crate::rewrite::guard::failure::GuardFailure;

/// The files that generators copy.
pub(super) struct Generated(HashMap<Arc<str>, GeneratedFrom>);

impl Generated {
    /// Finds the copied files among all files.
    pub(super) fn of(sources: &SourceSet) -> Self {
        Self(generator_files(sources))
    }

    /// Returns a refusal if a generator copies the file of a workload.
    pub(super) fn refusal(&self, plain: &WorkloadPrediction<'_>) -> Option<GuardFailure> {
        let object = &plain.workload.object;
        let copy = self.0.get(object.path())?;
        let (path, generated) = (&copy.kustomization, &copy.object);
        let message =
            format!("`{path}` copies the file into {generated}, whose content would change");
        let help = format!("if that content may change, leave it out with `--exclude {path}`");
        let refusal = GuardFailure::new(GuardId::KUSTOMIZE_OVERLAY, object.name_span(), message);
        Some(refusal.with_help(help))
    }
}
