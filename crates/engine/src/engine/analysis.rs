//! One analysis: files and settings in, predictions and findings out, as plain data.

use std::collections::BTreeSet;

use meshprobe_deploy::gitops::render_relevant_again;
use meshprobe_deploy::kustomize::Rendering;
use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::mesh::{Mesh, Version};
use meshprobe_mesh::settings::Settings;
use meshprobe_predict::context::NotJudged;
use meshprobe_tree::source::SourceSet;

use super::ambiguous_config::ambiguous_configs;
use super::check::{finish, judge, problems};
use super::context_fixes::{complete_findings, complete_not_judged};
use super::input_diagnostics::{broken_texts, input_diagnostics};
use super::not_judged::not_judged;
use super::outcome::{Outcome, UnknownEnvironments, environment_names, unknown_environments};
use super::panic_isolation::{catch_panic, isolate_panics};
use super::predicted::{AnalysisRequest, Predicted};
use super::probe_report::WorkloadReport;
use super::rendered_templates::unrendered_templates;
use super::summary::newest_unproven;
use super::unsupported_parts::unsupported_parts;

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
pub fn predict(request: &AnalysisRequest<'_>) -> Predictions {
    let (set, settings) = (request.set, request.settings);
    let isolated = isolate_panics(set, |part| {
        let renderings = request.renderings_of(part);
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
