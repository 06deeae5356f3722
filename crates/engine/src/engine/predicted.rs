//! What the steps of an analysis share: its request, and the predictions.

use std::borrow::Cow;

use meshprobe_deploy::gitops::render_relevant;
use meshprobe_deploy::kustomize::Rendering;
use meshprobe_mesh::settings::Settings;
use meshprobe_predict::context::Context;
use meshprobe_predict::predict;
use meshprobe_predict::predict::WorkloadPrediction;
use meshprobe_tree::source::SourceSet;

use super::predicted_probes::report;
use super::probe_report::WorkloadReport;

/// The files of an analysis, its settings, and what the result contains.
#[derive(Clone, Copy, Debug)]
pub struct AnalysisRequest<'a> {
    /// The files.
    pub set: &'a SourceSet,
    /// The settings.
    pub settings: &'a Settings,
    /// The renderings of the files; `None` to render them.
    pub renderings: Option<&'a [Rendering]>,
    /// What happens to the fixes of findings.
    pub fixes: Fixes,
    /// Whether the result contains the predictions.
    pub has_predictions: bool,
}

impl<'a> AnalysisRequest<'a> {
    /// Creates the request for an analysis with fixes and without predictions.
    #[must_use]
    pub const fn new(set: &'a SourceSet, settings: &'a Settings) -> Self {
        Self {
            set,
            settings,
            renderings: None,
            fixes: Fixes::Verified,
            has_predictions: false,
        }
    }

    /// Returns the renderings of the files, or of those without some on which meshprobe panics.
    pub(crate) fn renderings_of(&self, part: &SourceSet) -> Cow<'a, [Rendering]> {
        match self.renderings.filter(|_| std::ptr::eq(part, self.set)) {
            Some(renderings) => Cow::Borrowed(renderings),
            None => Cow::Owned(render_relevant(part)),
        }
    }
}

/// What happens to the fixes of findings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fixes {
    /// They are verified, and placed in the files.
    Verified,
    /// They are removed, because the caller does not show them.
    Removed,
}

/// The facts about a set of files, and the predictions that follow from them.
#[derive(Debug)]
pub(crate) struct Predicted<'t> {
    /// The rendered overlays.
    pub(crate) renderings: &'t [Rendering],
    /// The facts.
    pub(crate) context: Context<'t>,
    /// The predictions, including those for context files, in the order of the inventory.
    pub(crate) predictions: Vec<WorkloadPrediction<'t>>,
}

impl<'t> Predicted<'t> {
    /// Predicts all workloads of the files and of their rendered overlays.
    pub(crate) fn of(
        set: &'t SourceSet,
        renderings: &'t [Rendering],
        settings: &'t Settings,
    ) -> Self {
        Self::from_facts(renderings, Context::new(set, renderings, settings))
    }

    /// Predicts all workloads from facts.
    pub(crate) fn from_facts(renderings: &'t [Rendering], context: Context<'t>) -> Self {
        Self {
            renderings,
            predictions: predict::predict_all(&context),
            context,
        }
    }

    /// Sorts the predictions by place.
    pub(crate) fn sorted(mut self) -> Self {
        predict::sort_by_place(&mut self.predictions);
        self
    }

    /// Returns the predictions as plain data.
    pub(crate) fn report(&self) -> Vec<WorkloadReport> {
        report(&self.context, &self.predictions)
    }
}
