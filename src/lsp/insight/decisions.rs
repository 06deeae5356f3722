//! The lines that decide the outcome of probes, and the probes that a line decides.

use gen_lsp_types::Location;
use meshprobe_mesh::mesh::Reason;
use meshprobe_tree::source::SourceFile;
use meshprobe_yaml::Span;

use super::handlers::{PredictedHandler, handlers, span_in};
use crate::lsp::analysis::Analysis;

/// A probe, and the reason why a line decides its outcome.
#[derive(Clone, Copy, Debug)]
pub(in crate::lsp) struct Decision<'s, 't> {
    /// The probe.
    pub(in crate::lsp) of: PredictedHandler<'s, 't>,
    /// The reason, which has a place.
    pub(in crate::lsp) reason: &'s Reason,
}

/// Returns the probes whose outcome a line within a span decides, each once.
pub(in crate::lsp) fn decided_by<'s, 't>(
    analysis: &Analysis<'s, 't>,
    file: &SourceFile,
    within: Span,
) -> Vec<Decision<'s, 't>> {
    let decides = |reason: &&'s Reason| {
        let place = reason.place.as_ref();
        let span = place.and_then(|place| span_in(file, place));
        span.is_some_and(|span| within.contains(span))
    };
    handlers(analysis)
        .filter_map(|of| {
            let reason = of.handler.verdict.because.iter().find(decides)?;
            Some(Decision { of, reason })
        })
        .collect()
}

/// Returns the locations of the lines that decide a probe, the most important first.
pub(in crate::lsp) fn deciding_locations(
    analysis: &Analysis<'_, '_>,
    of: &PredictedHandler<'_, '_>,
) -> Vec<Location> {
    let because = of.handler.verdict.because.iter();
    let places = because.filter_map(|reason| reason.place.as_ref());
    places
        .filter_map(|place| analysis.location(&place.path, place.span))
        .collect()
}

impl PredictedHandler<'_, '_> {
    /// Returns the location of its key.
    pub(in crate::lsp) fn location(&self, analysis: &Analysis<'_, '_>) -> Option<Location> {
        let key = self.key();
        analysis.location(&key.path, key.span)
    }
}
