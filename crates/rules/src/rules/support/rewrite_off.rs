//! Helpers of the rules about probes that reach the sidecar because the rewrite is off.

use meshprobe_mesh::finding::Finding;
use meshprobe_predict::predict::{HandlerPrediction, WorkloadPrediction};

use crate::rules::support::enable_rewrite;
use crate::rules::{Rule, RuleContext};

/// Returns a finding for every probe for which `is_affected` is true, with a fix that turns the rewrite on.
/// Separate rules report hooks, and probes that the release does not rewrite at all.
pub(in crate::rules) fn report(
    rule: &Rule,
    cx: &RuleContext<'_, '_>,
    is_affected: impl Fn(&WorkloadPrediction<'_>, &HandlerPrediction<'_>) -> bool,
    message: impl Fn(&WorkloadPrediction<'_>, &HandlerPrediction<'_>) -> String,
) -> Vec<Finding> {
    cx.handlers()
        .filter(|(pod, handler)| {
            handler.unsupported.is_none()
                && !handler.handler.slot.is_lifecycle()
                && is_affected(pod, handler)
        })
        .map(|(pod, handler)| {
            let span = handler.handler.key.span();
            let message = message(pod, handler);
            let mut finding = rule.finding_on_handler(pod, handler, span, message);
            add_fix(cx, pod, &mut finding);
            finding
        })
        .collect()
}

/// Adds the fix that turns the rewrite on to a finding if an injector changes the pod; otherwise adds only a help text.
pub(in crate::rules) fn add_fix<'t>(
    cx: &RuleContext<'_, 't>,
    pod: &WorkloadPrediction<'t>,
    finding: &mut Finding,
) {
    if pod.passes_injector {
        enable_rewrite::add_fix(cx, pod, finding);
    } else {
        let help = "the manifest contains its own sidecar, so no injector rewrites its probes; \
                    rewrite them ahead of deployment, or have the pod injected";
        finding.help = Some(help.to_owned());
    }
}
