//! The verdict of handlers that cannot be read or that the API server refuses.

use crate::context::placement;
use crate::kube::{Unreadable, Workload, api_rejection};
use crate::predict::cause::Cause;
use crate::predict::outcome::Outcome;
use crate::predict::prediction::HandlerPrediction;
use crate::predict::verdict_builder::VerdictBuilder;

/// Returns the verdict of a handler that cannot be read or that the API server refuses; `None` for all
/// others.
pub(in crate::predict) fn unreadable(handler: &HandlerPrediction<'_>) -> Option<(Outcome, Cause)> {
    match &handler.handler.action {
        Err(Unreadable::Placeholder(_)) => Some((Outcome::Unknown, Cause::Placeholder)),
        Err(Unreadable::Malformed(_)) => Some((Outcome::Refused, Cause::Malformed)),
        Ok(_) => api_rejection(&handler.container, &handler.handler)
            .map(|_| (Outcome::Refused, Cause::Malformed)),
    }
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
