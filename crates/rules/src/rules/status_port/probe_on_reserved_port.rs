//! Rule `probe-on-reserved-port`, documented in `docs/rules/probe-on-reserved-port.md`.

use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::kube::ProbeHandler;
use meshprobe_predict::predict::{
    Cause, HandlerPrediction, Outcome, WorkloadPrediction, port_owner,
};

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;

declare_rule! {
    "probe-on-reserved-port", Warning, fix: None, scope: Workloads
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.handlers()
        .filter_map(|(pod, handler)| report(pod, handler))
        .collect()
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Option<Finding> {
    let action = handler.handler.action.as_ref().ok()?;
    let has_other_target = action.host().is_some() || handler.agent_path().is_some();
    // The answer to a probe that the mesh rewrote to this port depends on the application.
    let is_forwarded = matches!(
        handler.verdict.cause,
        Cause::ForwardedByProxy | Cause::CheckedByHelper
    );
    if has_other_target || is_forwarded || handler.verdict.outcome != Outcome::Ok {
        return None;
    }
    let port = handler.port?;
    let owner = port_owner(pod, port)?;
    let message = format!(
        "{} targets port {port} of the sidecar ({owner}): its result does not depend on the \
         application",
        handler.title(),
    );
    let span = handler.handler.field_span("port");
    let mut finding = RULE.finding_on_handler(pod, handler, span, message);
    finding.outcome = None;
    let kind = ProbeHandler::key(action);
    finding.help = Some(format!(
        "set the port of the application in `{kind}`; the sidecar has its own probe"
    ));
    Some(finding)
}
