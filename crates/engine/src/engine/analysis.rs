//! Derives facts and predictions from files: the first steps of every command.

use meshprobe_deploy::gitops::render_relevant;
use meshprobe_deploy::kustomize::Rendering;
use meshprobe_mesh::settings::Settings;
use meshprobe_predict::context::Context;
use meshprobe_predict::predict::{self, WorkloadPrediction};
use meshprobe_tree::source::SourceSet;

/// The facts about a set of files, and the predictions that follow from them.
///
/// Facts borrow from the renderings, and predictions from the facts. The functions of this module therefore pass an
/// analysis to a closure, and do not return it.
#[derive(Debug)]
pub(super) struct Analysis<'s, 't> {
    /// The rendered overlays.
    pub(super) renderings: &'t [Rendering],
    /// The facts.
    pub(super) context: &'s Context<'t>,
    /// The predictions, including those for context files.
    pub(super) predictions: Vec<WorkloadPrediction<'t>>,
}

/// Renders the overlays of the files, predicts all workloads, and returns the result of `work` on the analysis.
pub(super) fn analyse<T>(
    set: &SourceSet,
    settings: &Settings,
    work: impl FnOnce(Analysis<'_, '_>) -> T,
) -> T {
    let renderings = render_relevant(set);
    analyse_while(
        set,
        &renderings,
        settings,
        || (),
        |analysis, ()| work(analysis),
    )
}

/// Predicts all workloads of the files and of their rendered overlays. Runs `meanwhile` while the facts are collected, and
/// returns the result of `work` on the analysis and on the result of `meanwhile`.
pub(super) fn analyse_while<M: Send, T>(
    set: &SourceSet,
    renderings: &[Rendering],
    settings: &Settings,
    meanwhile: impl FnOnce() -> M + Send,
    work: impl FnOnce(Analysis<'_, '_>, M) -> T,
) -> T {
    let (context, other) = rayon::join(|| Context::new(set, renderings, settings), meanwhile);
    let analysis = Analysis {
        renderings,
        context: &context,
        predictions: predict::predict_all(&context),
    };
    work(analysis, other)
}

/// Analyses the files with and without rendered overlays, and returns the result of `work` on both analyses, in this
/// order.
pub(super) fn analyse_with_and_without_overlays<T>(
    set: &SourceSet,
    settings: &Settings,
    work: impl for<'s, 't> FnOnce(Analysis<'s, 't>, Analysis<'s, 't>) -> T,
) -> T {
    let renderings = render_relevant(set);
    let overlaid = Context::new(set, &renderings, settings);
    let plain = Context::as_written(set, settings);
    let analysis_of = |renderings, context| Analysis {
        renderings,
        context,
        predictions: predict::predict_all(context),
    };
    work(
        analysis_of(&renderings, &overlaid),
        analysis_of(&[], &plain),
    )
}

/// Collects the facts about the files, without predictions, and returns the result of `work` on the facts.
pub(super) fn with_context<T>(
    set: &SourceSet,
    settings: &Settings,
    work: impl FnOnce(&Context<'_>) -> T,
) -> T {
    let renderings = render_relevant(set);
    work(&Context::new(set, &renderings, settings))
}
