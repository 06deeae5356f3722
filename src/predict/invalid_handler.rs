//! The verdict of handlers that cannot be read or that the API server refuses.

use crate::kube::{Unreadable, api_rejection};
use crate::predict::cause::Cause;
use crate::predict::outcome::Outcome;
use crate::predict::prediction::HandlerPrediction;

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
