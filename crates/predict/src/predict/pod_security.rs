//! Handlers because of which Pod Security Admission rejects their pod.

use meshprobe_mesh::kube::Workload;
use meshprobe_mesh::mesh::Fact;
use meshprobe_tree::source::placeholder;

use crate::context::Context;
use crate::predict::cause::Cause;
use crate::predict::outcome::Outcome;
use crate::predict::prediction::HandlerPrediction;
use crate::predict::verdict_builder::VerdictBuilder;

/// Replaces the verdicts of handlers that set `host`, if the API server certainly rejects their pod. If that is only
/// assumed, the verdicts stay, and the explanation names the other outcome.
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
    let is_open = !forbidden.is_proven_or_assumed_by_user();
    for handler in setting {
        if is_open {
            handler.by_other_release = otherwise(&forbidden);
            continue;
        }
        if handler.verdict.outcome != Outcome::Refused {
            let mut builder = VerdictBuilder::new();
            builder.depends_on(&forbidden);
            handler.verdict = builder.verdict(Outcome::Refused, Cause::HostForbidden);
        }
    }
}

/// Returns the outcome if the assumption holds, with the option that settles it.
fn otherwise(forbidden: &Fact<()>) -> Option<String> {
    let mut because = forbidden.because.iter();
    let (assumption, settle) =
        because.find_map(|reason| Some((&reason.message, reason.settle?)))?;
    let (outcome, cause) = (Outcome::Refused.as_str(), Cause::HostForbidden.describe());
    Some(format!("{outcome} if {assumption}: {cause} [{settle}]"))
}

/// Returns whether a probe or hook certainly has a host when the API server checks the pod. Webhooks change the pod
/// before that.
pub fn sets_host(handler: &HandlerPrediction<'_>) -> bool {
    let action = handler.handler.action.as_ref().ok();
    let host = match handler.rewritten_to {
        Some(_) => handler.rewritten_host(),
        None => action.and_then(|action| action.host()),
    };
    host.is_some_and(|host| !host.is_empty() && !placeholder::contains(host))
}
