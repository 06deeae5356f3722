//! Handlers because of which Pod Security Admission rejects their pod.

use crate::context::Context;
use crate::finding::Certainty;
use crate::kube::Workload;
use crate::predict::cause::Cause;
use crate::predict::outcome::Outcome;
use crate::predict::prediction::HandlerPrediction;
use crate::predict::verdict_builder::VerdictBuilder;
use crate::source::placeholder;

/// Replaces the verdicts of handlers that set `host`, if the API server certainly rejects their pod. If that is only
/// assumed, the verdicts stay.
pub(in crate::predict) fn reject_hosts<'t>(
    context: &Context<'t>,
    workload: &Workload<'t>,
    handlers: &mut [HandlerPrediction<'t>],
) {
    let mut setting = handlers
        .iter_mut()
        .filter(|handler| sets_host(handler))
        .peekable();
    if setting.peek().is_none() {
        return;
    }
    let Some(forbidden) = context.forbids_hosts(workload) else {
        return;
    };
    let is_assumed_by_user = forbidden
        .because
        .iter()
        .any(|reason| reason.is_assumed_by_user);
    if forbidden.certainty < Certainty::Default && !is_assumed_by_user {
        return;
    }
    for handler in setting {
        if handler.verdict.outcome != Outcome::Refused {
            let mut builder = VerdictBuilder::new();
            builder.depends_on(&forbidden);
            handler.verdict = builder.verdict(Outcome::Refused, Cause::HostForbidden);
        }
    }
}

/// Returns whether a probe or hook certainly has a host when the API server checks the pod. Webhooks change the pod
/// before that.
pub(crate) fn sets_host(handler: &HandlerPrediction<'_>) -> bool {
    let action = handler.handler.action.as_ref().ok();
    let host = match handler.rewritten_to {
        Some(_) => handler.rewritten_host(),
        None => action.and_then(|action| action.host()),
    };
    host.is_some_and(|host| !host.is_empty() && !placeholder::contains(host))
}
