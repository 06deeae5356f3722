//! One analysis: files and settings in, predictions and findings out, as plain data.

use std::borrow::Cow;
use std::collections::BTreeSet;

use meshprobe_deploy::gitops::{render_relevant, render_relevant_again};
use meshprobe_deploy::kustomize::Rendering;
use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::mesh::{Mesh, Version};
use meshprobe_mesh::settings::Settings;
use meshprobe_predict::context::{Context, NotJudged};
use meshprobe_predict::predict;
use meshprobe_predict::predict::WorkloadPrediction;
use meshprobe_tree::source::SourceSet;

use super::ambiguous_config::ambiguous_configs;
use super::check::{finish, judge, problems};
use super::context_fixes::{complete_findings, complete_not_judged};
use super::input_diagnostics::{broken_texts, input_diagnostics};
use super::not_judged::not_judged;
use super::outcome::{Outcome, UnknownEnvironments, environment_names, unknown_environments};
use super::panic_isolation::isolate_panics;
use super::panic_report::catch_panic;
use super::predicted_probes::report;
use super::probe_report::WorkloadReport;
use super::rendered_templates::unrendered_templates;
use super::summary::newest_unproven;
use super::unsupported_parts::unsupported_parts;

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

/// The result of an analysis.
#[derive(Clone, Debug, Default)]
pub struct Analysis {
    /// The findings, what is not judged, and the counts.
    pub outcome: Outcome,
    /// The predictions, sorted by place; empty if they were not requested.
    pub workloads: Vec<WorkloadReport>,
}

/// Predicts all probes of the files, and checks them.
#[must_use]
pub fn analyse(request: &AnalysisRequest<'_>) -> Analysis {
    let (set, settings) = (request.set, request.settings);
    let judged = || {
        isolate_panics(set, |part| {
            let renderings = request.renderings_of(part);
            let (predicted, checked) = judge(part, &renderings, settings);
            let workloads = request.has_predictions.then(|| predicted.sorted().report());
            (checked, workloads.unwrap_or_default())
        })
    };
    let (judged, problems) = rayon::join(judged, || problems(set));
    let (checked, workloads) = judged.value;
    Analysis {
        outcome: finish(request, checked, (judged.faults, problems)),
        workloads,
    }
}

/// Checks all files.
#[must_use]
pub fn check(set: &SourceSet, settings: &Settings) -> Outcome {
    analyse(&AnalysisRequest::new(set, settings)).outcome
}

/// Renders the kustomizations of the files for one or more analyses. Reuses the renderings of another state of the tree
/// where nothing differs. Returns `None` if meshprobe panics, which an analysis then reports.
#[must_use]
pub fn rendered(
    set: &SourceSet,
    before: Option<(&SourceSet, &[Rendering])>,
) -> Option<Vec<Rendering>> {
    catch_panic(|| render_relevant_again(set, before)).ok()
}

/// The predictions of a run without rules.
#[derive(Clone, Debug, Default)]
pub struct Predictions {
    /// The predictions, sorted by place; `None` if meshprobe panicked on every file.
    pub workloads: Option<Vec<WorkloadReport>>,
    /// What runs pods and is not judged.
    pub not_judged: Vec<NotJudged>,
    /// The names of environments in the settings that the tree does not have.
    pub unknown_environments: Option<UnknownEnvironments>,
    /// The short names of all environments.
    pub environments: BTreeSet<String>,
    /// The newest release for which the model is not proven.
    pub unproven: Option<(Mesh, Version)>,
    /// The parts of the files that could not be read or rendered.
    pub findings: Vec<Finding>,
}

/// Predicts all probes of the files, without rules.
#[must_use]
pub fn predict(set: &SourceSet, settings: &Settings) -> Predictions {
    let isolated = isolate_panics(set, |part| {
        let renderings = render_relevant(part);
        let predicted = Predicted::of(part, &renderings, settings).sorted();
        let (context, predictions) = (&predicted.context, &predicted.predictions);
        Predictions {
            not_judged: not_judged(&predicted),
            unknown_environments: unknown_environments(context, predictions),
            environments: environment_names(context, predictions),
            unproven: newest_unproven(predictions),
            findings: unread_parts(&predicted),
            workloads: Some(predicted.report()),
        }
    });
    let mut predictions = isolated.value;
    complete_not_judged(set, &mut predictions.not_judged);
    let mut findings = isolated.faults;
    findings.append(&mut predictions.findings);
    findings.extend(input_diagnostics(set));
    complete_findings(set, &mut findings);
    Predictions {
        findings,
        ..predictions
    }
}

/// Returns findings about facts that could not be read.
fn unread_parts(predicted: &Predicted<'_>) -> Vec<Finding> {
    let (context, predictions) = (&predicted.context, &predicted.predictions);
    let mut found = unsupported_parts(predicted.renderings, predictions, |_| true);
    found.retain(|note| context.reports(note));
    found.extend(broken_texts(context));
    found.extend(ambiguous_configs(predictions));
    found.extend(unrendered_templates(context));
    found
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
