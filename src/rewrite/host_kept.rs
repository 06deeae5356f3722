//! Handlers that a rewrite leaves as written because they target another host.

use crate::finding::{Finding, GuardId};
use crate::predict::{HandlerPrediction, WorkloadPrediction};

use super::notes::note_at;

/// Notes the handlers that stay as written because they target another host.
pub(super) fn notes<'p>(
    pod: &'p WorkloadPrediction<'_>,
    kept: &'p [&HandlerPrediction<'_>],
) -> impl Iterator<Item = Finding> + 'p {
    kept.iter().filter_map(|prediction| {
        let handler = &prediction.handler;
        let host = handler.action.as_ref().ok()?.host()?;
        let label = pod
            .workload
            .object
            .label_at(handler.field_span("host"), String::new());
        let message = format!(
            "{} is not rewritten: with the opt-out, its requests reach host `{host}` as written",
            prediction.title()
        );
        Some(note_at(pod, GuardId::HOST_KEPT, label, message))
    })
}
