//! The probes and hooks of the workspace, with their predictions.

use meshprobe_mesh::finding::Label;
use meshprobe_predict::predict::{HandlerPrediction, WorkloadPrediction};
use meshprobe_tree::source::SourceFile;
use meshprobe_yaml::Span;

use crate::lsp::analysis::Analysis;

/// A probe or hook with its prediction. A document that several overlays include has one per overlay.
#[derive(Clone, Copy, Debug)]
pub(in crate::lsp) struct PredictedHandler<'s, 't> {
    /// The workload.
    pub(in crate::lsp) workload: &'s WorkloadPrediction<'t>,
    /// The probe or hook.
    pub(in crate::lsp) handler: &'s HandlerPrediction<'t>,
}

impl PredictedHandler<'_, '_> {
    /// Returns the place of its key.
    pub(in crate::lsp) fn key(&self) -> Label {
        let key = self.handler.handler.key.span();
        self.workload.workload.object.label_at(key, String::new())
    }
}

/// Iterates over the probes and hooks of all workloads that are reported.
pub(in crate::lsp) fn handlers<'s, 't>(
    analysis: &Analysis<'s, 't>,
) -> impl Iterator<Item = PredictedHandler<'s, 't>> + use<'s, 't> {
    let predictions = analysis.facts.map(|facts| facts.predictions);
    predictions
        .unwrap_or_default()
        .iter()
        .filter(|workload| workload.is_target)
        .flat_map(|workload| {
            let handlers = workload.handlers.iter();
            handlers.map(move |handler| PredictedHandler { workload, handler })
        })
}

/// Iterates over the probes and hooks whose key is in a file, with the span of the key.
pub(in crate::lsp) fn handlers_in<'s, 't>(
    analysis: &Analysis<'s, 't>,
    file: &'t SourceFile,
) -> impl Iterator<Item = (Span, PredictedHandler<'s, 't>)> + use<'s, 't> {
    handlers(analysis).filter_map(move |handler| {
        let key = handler.key();
        Some((span_in(file, &key)?, handler))
    })
}

/// Returns the span of a place in a file; `None` if it is in another file.
pub(in crate::lsp) fn span_in(file: &SourceFile, place: &Label) -> Option<Span> {
    (place.path == file.path).then_some(place.span)
}
