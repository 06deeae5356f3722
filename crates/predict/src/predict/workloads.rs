//! Predicts workloads, with the alternatives that lower the certainty of verdicts.

use std::cmp::Ordering;

use meshprobe_mesh::kube::Workload;
use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};

use crate::context::Context;
use crate::predict::prediction::WorkloadPrediction;
use crate::predict::single::predict_with;

/// Predicts all workloads, in the order of the tree.
#[must_use]
pub fn predict_all<'t>(context: &Context<'t>) -> Vec<WorkloadPrediction<'t>> {
    context
        .inventory
        .workloads
        .par_iter()
        .map(|subject| WorkloadPrediction {
            is_target: subject.is_target,
            ..predict_workload(context, &subject.workload)
        })
        .collect()
}

/// Predicts the workloads at these positions in the order of [`predict_all`] again.
pub fn predict_again<'t>(
    context: &Context<'t>,
    predictions: &mut [WorkloadPrediction<'t>],
    positions: &[usize],
) {
    let predicted: Vec<_> = positions
        .par_iter()
        .filter_map(|at| {
            let subject = context.inventory.workloads.get(*at)?;
            Some((*at, predict_workload(context, &subject.workload)))
        })
        .collect();
    for (at, prediction) in predicted {
        if let Some(old) = predictions.get_mut(at) {
            let is_target = old.is_target;
            *old = WorkloadPrediction {
                is_target,
                ..prediction
            };
        }
    }
}

/// Sorts predictions by file and document, then by the kustomization that renders the document.
pub fn sort_by_place(predictions: &mut [WorkloadPrediction<'_>]) {
    predictions.sort_by(by_place);
}

/// Returns the result of `view` on predictions that are sorted as by [`sort_by_place`]. Their order does not change.
pub fn view_by_place<'t, T>(
    predictions: &mut Vec<WorkloadPrediction<'t>>,
    view: impl FnOnce(&[WorkloadPrediction<'t>]) -> T,
) -> T {
    let numbered = std::mem::take(predictions).into_iter().enumerate();
    let mut numbered: Vec<_> = numbered.collect();
    numbered.sort_by(|(_, a), (_, b)| by_place(a, b));
    let (numbers, sorted): (Vec<usize>, Vec<_>) = numbered.into_iter().unzip();
    let viewed = view(&sorted);
    let mut numbered: Vec<_> = numbers.into_iter().zip(sorted).collect();
    numbered.sort_by_key(|(number, _)| *number);
    predictions.extend(numbered.into_iter().map(|(_, prediction)| prediction));
    viewed
}

fn by_place(a: &WorkloadPrediction<'_>, b: &WorkloadPrediction<'_>) -> Ordering {
    let (a, b) = (&a.workload.object, &b.workload.object);
    let files = a.path().cmp(b.path());
    files
        .then(a.document.index.cmp(&b.document.index))
        .then(a.rendered_by.cmp(&b.rendered_by))
        .then(a.overlay.cmp(&b.overlay))
}

/// Predicts one workload. If equally near control planes differ, an outcome that is the same for all of
/// them is not an assumption.
#[must_use]
pub fn predict_workload<'t>(
    context: &Context<'t>,
    workload: &Workload<'t>,
) -> WorkloadPrediction<'t> {
    let mut prediction = predict_with(
        context,
        workload,
        context.istio(workload).rewriting().is_on(),
    );
    prediction.claims = context.mesh_of(workload).claims();
    crate::predict::alternatives::ambiguous_control_planes::settle(
        context,
        workload,
        &mut prediction,
    );
    crate::predict::alternatives::unmodelled::settle(context, workload, &mut prediction);
    prediction
}
