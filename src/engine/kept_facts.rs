//! Runs the rules on facts and predictions that serve several states of the files.

use meshprobe_deploy::kustomize::Rendering;
use meshprobe_mesh::finding::Finding;
use meshprobe_predict::context::Context;
use meshprobe_predict::predict::WorkloadPrediction;

use super::analysis::Analysis;
use super::check::{Fixes, check_analysed, finish};
use super::outcome::Outcome;
use super::suppress::Suppressions;

/// What is read from the texts of files: suppressions, and problems with the files.
pub(super) type Read = (Suppressions, Vec<Finding>);

/// Runs the rules on the predictions of a state, and returns the outcome with the result of `view`. The predictions remain
/// for the next state.
pub(super) fn check_kept<'t, T>(
    (context, renderings): (&Context<'t>, &'t [Rendering]),
    predictions: &mut Vec<WorkloadPrediction<'t>>,
    (suppressions, problems): Read,
    fixes: Fixes,
    view: impl FnOnce(&mut Vec<WorkloadPrediction<'t>>) -> T,
) -> (Outcome, Option<T>) {
    let analysis = Analysis {
        renderings,
        context,
        predictions: std::mem::take(predictions),
    };
    let (set, settings) = (context.sources, context.settings);
    let mut checked = check_analysed(set, settings, &analysis, suppressions);
    *predictions = analysis.predictions;
    checked.view = Some(view(predictions));
    finish(set, settings, fixes, checked, (Vec::new(), problems))
}
