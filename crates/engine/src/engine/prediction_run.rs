//! Predicts all workloads of a set of files.

use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::settings::Settings;
use meshprobe_predict::context::{Context, NotJudged};
use meshprobe_predict::predict;
use meshprobe_predict::predict::WorkloadPrediction;
use meshprobe_tree::source::SourceSet;

use super::ambiguous_config::ambiguous_configs;
use super::analysis::{Analysis, analyse};
use super::context_fixes::{complete_findings, complete_not_judged};
use super::input_diagnostics::{broken_texts, input_diagnostics};
use super::not_judged::not_judged;
use super::panic_isolation::isolate_panics;
use super::rendered_templates::unrendered_templates;
use super::unsupported_parts::unsupported_parts;

/// The result of predicting all workloads.
#[derive(Debug)]
pub struct Predicted<T> {
    /// The view of the predictions; `None` if meshprobe panicked on every file.
    pub view: Option<T>,
    /// The parts of the files that could not be read or rendered.
    pub findings: Vec<Finding>,
}

/// Predicts all workloads, and returns the result of `view` on the predictions in the order of the files, and on what
/// is not judged.
#[must_use]
pub fn predict<T>(
    set: &SourceSet,
    settings: &Settings,
    view: impl Fn(&Context<'_>, &[WorkloadPrediction<'_>], &[NotJudged]) -> T,
) -> Predicted<T> {
    let predicted = isolate_panics(set, |set| {
        analyse(set, settings, |mut analysis| {
            predict::sort_by_place(&mut analysis.predictions);
            let (notes, mut not_judged) = (notes(&analysis), not_judged(&analysis));
            complete_not_judged(set, &mut not_judged);
            let view = view(analysis.context, &analysis.predictions, &not_judged);
            (Some(view), notes)
        })
    });
    let (view, notes) = predicted.value;
    let mut findings = predicted.faults;
    findings.extend(notes);
    findings.extend(input_diagnostics(set));
    complete_findings(set, &mut findings);
    Predicted { view, findings }
}

/// Returns findings about facts that could not be read.
fn notes(analysis: &Analysis<'_, '_>) -> Vec<Finding> {
    let (renderings, context) = (analysis.renderings, analysis.context);
    let predictions = analysis.predictions.as_slice();
    let mut notes = unsupported_parts(renderings, predictions, |_| true);
    notes.retain(|note| context.reports(note));
    notes.extend(broken_texts(context));
    notes.extend(ambiguous_configs(predictions));
    notes.extend(unrendered_templates(context));
    notes
}
