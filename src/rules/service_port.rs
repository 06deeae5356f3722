//! What the rules about the protocol of a Service port have in common.

use crate::finding::Finding;
use crate::predict::{HandlerPrediction, WorkloadPrediction};

use super::{Rule, Scene, scene, switched_off};

/// Tells whether the protocol is what is to be mended: that the release is too old for a probe is a
/// fault of its own.
pub(super) fn decides(handler: &HandlerPrediction<'_>) -> bool {
    handler.gap.is_none() || handler.handler.slot.is_lifecycle()
}

/// Names the Service that gives the port of a handler its protocol: "Service `web`".
pub(super) fn service(
    scene: &Scene<'_, '_>,
    pod: &WorkloadPrediction<'_>,
    handler: &HandlerPrediction<'_>,
) -> String {
    let port = handler.port.unwrap_or_default();
    let found = scene.context.service_of(&pod.workload, port);
    found.map_or_else(
        || "its Service".to_owned(),
        |(service, _)| format!("Service `{}`", service.name()),
    )
}

/// Builds the finding: the rewrite is the fix where it is off, the name of the port the help.
pub(super) fn finding(
    rule: &Rule,
    scene: &Scene<'_, '_>,
    (pod, handler): (&WorkloadPrediction<'_>, &HandlerPrediction<'_>),
    message: String,
    help: &str,
) -> Finding {
    let span = handler.handler.key.span();
    let mut finding = scene::about_handler(rule, pod, handler, span, message);
    if handler.gap.is_none() {
        switched_off::offer(scene, pod, &mut finding);
    }
    finding.help.get_or_insert_with(|| help.to_owned());
    finding
}
