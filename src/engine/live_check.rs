//! Checks all files for a caller that keeps the facts and the predictions to answer questions about them.

use rayon::ThreadPool;

use crate::context::Context;
use crate::predict::{self, WorkloadPrediction};
use crate::settings::Settings;
use crate::source::SourceSet;

use super::analysis::Analysis;
use super::check::{Fixes, RenderedOverlays, check, check_analysed, finish};
use super::outcome::Outcome;
use super::panic_report::catch_panic;
use super::suppress::Suppressions;
use crate::engine::input_diagnostics::input_diagnostics;

/// The result of a check, and what it follows from.
#[derive(Debug)]
pub struct LiveCheck<'s, 't> {
    /// The findings.
    pub outcome: Outcome,
    /// The facts and the predictions; `None` if meshprobe panicked on a file.
    pub facts: Option<LiveFacts<'s, 't>>,
}

/// The facts about a set of files, and the predictions of all workloads.
#[derive(Clone, Copy, Debug)]
pub struct LiveFacts<'s, 't> {
    /// The facts.
    pub context: &'s Context<'t>,
    /// The predictions, sorted by kustomization.
    pub predictions: &'s [WorkloadPrediction<'t>],
}

/// Checks all files as [`check`](super::check()) does, with their verified fixes, on the threads of `pool`. Returns the
/// result of `work`, which runs on the current thread. `rendered` is empty, or belongs to the same files.
pub fn check_live<T>(
    set: &SourceSet,
    rendered: &RenderedOverlays<'_>,
    settings: &Settings,
    pool: &ThreadPool,
    work: impl FnOnce(LiveCheck<'_, '_>) -> T,
) -> T {
    let isolated = || LiveCheck {
        outcome: pool.install(|| check(set, settings)),
        facts: None,
    };
    let collected = pool.install(|| {
        catch_panic(|| {
            let renderings = rendered.of(set);
            let context = || Context::new(set, renderings, settings);
            let rest = || (Suppressions::read(set), input_diagnostics(set));
            let (context, (suppressions, problems)) = rayon::join(context, rest);
            (renderings, context, suppressions, problems)
        })
    });
    let Ok((renderings, context, suppressions, problems)) = collected else {
        return work(isolated());
    };
    let analysed = pool.install(|| {
        catch_panic(|| {
            let analysis = Analysis {
                renderings,
                context: &context,
                predictions: predict::predict_all(&context),
            };
            let checked = check_analysed::<()>(set, settings, &analysis, suppressions);
            let problems = (Vec::new(), problems);
            let (outcome, _) = finish(set, settings, Fixes::Verified, checked, problems);
            (outcome, analysis.predictions)
        })
    });
    let Ok((outcome, predictions)) = analysed else {
        return work(isolated());
    };
    let facts = Some(LiveFacts {
        context: &context,
        predictions: &predictions,
    });
    work(LiveCheck { outcome, facts })
}
