//! Lowers the certainty of verdicts for pods that a kustomization changes in ways that are not
//! modelled: the verdicts assume that these changes do not affect probes.

use std::sync::Arc;

use meshprobe_mesh::finding::{Certainty, Label};
use meshprobe_mesh::kube::Workload;
use meshprobe_mesh::mesh::Reason;

use crate::context::Context;
use crate::predict::prediction::WorkloadPrediction;

/// What settles the assumption: the complete output of kustomize.
const SETTLE: &str = "kustomize build DIR | meshprobe predict -";

/// Adds the changes to the reasons of every handler, and lowers its certainty to assumed.
pub(in crate::predict) fn settle<'t>(
    context: &Context<'t>,
    workload: &Workload<'t>,
    prediction: &mut WorkloadPrediction<'t>,
) {
    let notes = context.origin_of(&workload.object).hidden_changes();
    let Some((first, others)) = notes.split_first() else {
        return;
    };
    let places = notes.iter().map(|note| {
        Reason::written(Label {
            path: Arc::clone(&note.path),
            span: note.span,
            message: note.message.clone(),
        })
    });
    let line = context.sources.file(&first.path);
    let line = line.map_or(1, |file| file.line_of(first.span));
    let more = match others.len() {
        0 => String::new(),
        count => format!(" and {count} more like this"),
    };
    let message = format!("{} ({}:{line}){more}", first.message, first.path);
    let reasons: Vec<Reason> = places
        .chain([Reason::without_place(message, Some(SETTLE))])
        .collect();
    for handler in &mut prediction.handlers {
        let verdict = &mut handler.verdict;
        verdict.certainty = verdict.certainty.min(Certainty::Assumed);
        verdict.because.extend(reasons.iter().cloned());
    }
}
