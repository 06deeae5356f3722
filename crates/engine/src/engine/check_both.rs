//! Checks two states of a tree that have the same facts, and what serves several states.

use std::borrow::Cow;

use meshprobe_deploy::kustomize::Rendering;
use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::settings::Settings;
use meshprobe_predict::context::Context;
use meshprobe_predict::predict;
use meshprobe_predict::predict::WorkloadPrediction;
use meshprobe_tree::source::SourceSet;

use super::analysis::Analysis;
use super::check::{Fixes, check_analysed, finish, problems};
use super::live_edit::{FactChange, Kept, LiveEdit};
use super::outcome::Outcome;
use super::panic_report::catch_panic;
use super::rendered_overlays::RenderedOverlays;
use super::suppress::Suppressions;

#[cfg(debug_assertions)]
use super::panic_isolation::trip_planted;

/// The outcome of a state, and the view of its predictions.
type Viewed<T> = (Outcome, Option<T>);

/// Checks two states of a tree as [`check_with_view`](super::check_with_view) does, without fixes, and with the same results
/// in less time: facts are collected once, and in the second state only changed workloads are predicted. `rendered` is
/// empty, or belongs to the first state.
///
/// Returns `None` if a fact may differ, or if meshprobe panicked.
#[must_use]
pub fn check_both_with_view<T: Send>(
    (before, after): (&SourceSet, &SourceSet),
    rendered: &RenderedOverlays<'_>,
    settings: &Settings,
    view: impl Fn(&Context<'_>, &[WorkloadPrediction<'_>]) -> T + Sync,
) -> Option<[Viewed<T>; 2]> {
    let checked = catch_panic(|| {
        #[cfg(debug_assertions)]
        [before, after].into_iter().for_each(trip_planted);
        let edit = edit_between(before, rendered, after)?;
        both((before, rendered.of(before)), &edit, settings, &view)
    });
    checked.ok().flatten()
}

/// Returns the edits between two states; `None` if a fact may differ.
fn edit_between<'a>(
    before: &SourceSet,
    rendered: &RenderedOverlays<'_>,
    after: &'a SourceSet,
) -> Option<LiveEdit<'a>> {
    let renderings: Vec<&Rendering> = rendered.of(before).iter().collect();
    let groups = rendered.groups(before);
    // No fix is placed.
    let after = (Cow::Borrowed(after), Kept::Nodes);
    let edit = LiveEdit::between(before, &renderings, (&groups, rendered.in_use()), after);
    (edit.facts == FactChange::None).then_some(edit)
}

fn both<T: Send>(
    (before, renderings): (&SourceSet, &[Rendering]),
    edit: &LiveEdit<'_>,
    settings: &Settings,
    view: &(impl Fn(&Context<'_>, &[WorkloadPrediction<'_>]) -> T + Sync),
) -> Option<[Viewed<T>; 2]> {
    let read = |set| (Suppressions::read(set), problems(set));
    let (mut context, read_before) = rayon::join(
        || Context::new(before, renderings, settings),
        || read(before),
    );
    let mut predictions = predict::predict_all(&context);
    let first = check((&context, renderings), &mut predictions, read_before, view);
    let positions = context.replace_workloads(&edit.set, &edit.workloads())?;
    let (read_after, ()) = rayon::join(
        || read(&edit.set),
        || predict::predict_again(&context, &mut predictions, &positions),
    );
    let second = check((&context, renderings), &mut predictions, read_after, view);
    Some([first, second])
}

/// Runs the rules on the predictions of a state. The view sees the predictions sorted by place.
fn check<'t, T>(
    (context, renderings): (&Context<'t>, &'t [Rendering]),
    predictions: &mut Vec<WorkloadPrediction<'t>>,
    read: Read,
    view: &impl Fn(&Context<'_>, &[WorkloadPrediction<'_>]) -> T,
) -> Viewed<T> {
    let state = (context, renderings);
    check_kept(state, predictions, read, Fixes::Removed, |predictions| {
        predict::view_by_place(predictions, |sorted| view(context, sorted))
    })
}

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
