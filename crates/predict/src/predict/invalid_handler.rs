//! The verdict of handlers that cannot be read or that the API server refuses.

use meshprobe_mesh::kube::{Unreadable, Workload, api_rejection};
use meshprobe_mesh::mesh::Fact;

use crate::context::placement;
use crate::predict::cause::Cause;
use crate::predict::outcome::Outcome;
use crate::predict::prediction::{HandlerPrediction, Verdict};
use crate::predict::verdict_builder::VerdictBuilder;

/// Returns the verdict of a handler that cannot be read or that the API server refuses; `None` for all
/// others.
pub(in crate::predict) fn unreadable(
    workload: &Workload<'_>,
    handler: &HandlerPrediction<'_>,
) -> Option<Verdict> {
    let (outcome, cause, span, message) = match &handler.handler.action {
        Err(Unreadable::Placeholder(span)) => {
            let place = workload.object.placeholder_at(*span, "fills in this value");
            (Outcome::Unknown, Cause::Placeholder, *span, place.message)
        }
        Err(Unreadable::Malformed(error)) => {
            let message = error.message.clone();
            (Outcome::Refused, Cause::Malformed, error.span, message)
        }
        Ok(_) => {
            let rejection = api_rejection(&handler.container, &handler.handler)?;
            let span = handler.handler.field_span(rejection.field);
            (Outcome::Refused, Cause::Malformed, span, rejection.reason)
        }
    };
    let mut builder = VerdictBuilder::new();
    builder.depends_on(&Fact::known((), workload.object.label_at(span, message)));
    Some(builder.verdict(outcome, cause))
}

/// Replaces the verdicts of probes without a handler in an object of an operator: the operator may add the handler, for
/// example if it merges the object over a preset.
pub(in crate::predict) fn leave_to_operator<'t>(
    workload: &Workload<'t>,
    handlers: &mut [HandlerPrediction<'t>],
) {
    let Some(assumption) = placement(workload) else {
        return;
    };
    let without_handler = handlers.iter_mut().filter(|handler| {
        handler.handler.written == 0 && handler.verdict.cause == Cause::Malformed
    });
    for handler in without_handler {
        let mut builder = VerdictBuilder::new();
        builder.depends_on(&assumption);
        handler.verdict = builder.verdict(Outcome::Unknown, Cause::MissingHandler);
    }
}
