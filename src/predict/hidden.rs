//! What a kustomization does to a pod and nobody follows: the verdicts rest on its doing nothing
//! that matters to a probe.

use std::sync::Arc;

use crate::context::Context;
use crate::finding::{Certainty, Label};
use crate::kube::Workload;
use crate::mesh::Reason;

use super::WorkloadPrediction;

/// What shows the whole of it.
const SETTLE: &str = "kustomize build DIR | meshprobe predict -";

/// Says so with every handler; none is surer than an assumption.
pub(super) fn settle<'t>(
    context: &Context<'t>,
    workload: &Workload<'t>,
    prediction: &mut WorkloadPrediction<'t>,
) {
    let notes = context.hidden_changes(&workload.object);
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
    let said = format!("{} ({}:{line}){more}", first.message, first.path);
    let reasons: Vec<Reason> = places.chain([Reason::said(said, Some(SETTLE))]).collect();
    for handler in &mut prediction.handlers {
        let verdict = &mut handler.verdict;
        verdict.certainty = verdict.certainty.min(Certainty::Assumed);
        verdict.because.extend(reasons.iter().cloned());
    }
}
