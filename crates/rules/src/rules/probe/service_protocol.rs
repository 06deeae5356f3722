//! Helpers of the rules about the protocol of a Service port.

use meshprobe_mesh::finding::Finding;
use meshprobe_predict::predict::{HandlerPrediction, WorkloadPrediction};

use crate::rules::support::rewrite_off;
use crate::rules::{Rule, RuleContext};

/// Returns whether the protocol causes the fault. If the release is too old to rewrite a probe, a separate rule
/// reports that.
pub(in crate::rules) fn decides(handler: &HandlerPrediction<'_>) -> bool {
    handler.unsupported.is_none() || handler.handler.slot.is_lifecycle()
}

/// Returns the Service that declares the protocol of a handler's port, for messages: "Service `web`".
pub(in crate::rules) fn service(
    cx: &RuleContext<'_, '_>,
    pod: &WorkloadPrediction<'_>,
    handler: &HandlerPrediction<'_>,
) -> String {
    let port = handler.port.unwrap_or_default();
    cx.context
        .services(&pod.workload)
        .first_of_port(port)
        .map_or_else(
            || "its Service".to_owned(),
            |(service, _)| format!("Service `{}`", service.name()),
        )
}

/// Builds the finding. The fix turns the rewrite on, unless the release does not rewrite the handler. `help`
/// is used if the fix sets no help of its own.
pub(in crate::rules) fn finding(
    rule: &Rule,
    cx: &RuleContext<'_, '_>,
    (pod, handler): (&WorkloadPrediction<'_>, &HandlerPrediction<'_>),
    message: String,
    help: &str,
) -> Finding {
    let span = handler.handler.key.span();
    let mut finding = rule.finding_on_handler(pod, handler, span, message);
    if handler.unsupported.is_none() {
        rewrite_off::add_fix(cx, pod, &mut finding);
    }
    finding.help.get_or_insert_with(|| help.to_owned());
    finding
}
