//! What the rules about probes have in common that a release of the mesh leaves alone, and later
//! ones rewrite.

use crate::finding::Finding;
use crate::predict::{Cause, Gap, HandlerPrediction, Outcome};

use super::{Rule, Scene, scene};

/// Reports the probes for which `what` names a kind that the release does not rewrite.
pub(super) fn report(
    rule: &Rule,
    scene: &Scene<'_, '_>,
    what: impl Fn(&HandlerPrediction<'_>) -> Option<&'static str>,
) -> Vec<Finding> {
    let mut found = Vec::new();
    for (pod, handler) in scene.handlers() {
        let (Some(gap), Some(what)) = (handler.gap, what(handler)) else {
            continue;
        };
        // Hooks have a rule of their own.
        if handler.handler.slot.is_lifecycle() || !meets_sidecar(handler.verdict.cause) {
            continue;
        }
        let (why, cure) = match (gap, pod.release.value) {
            (Gap::Release(since), Some(release)) => (
                format!("Istio {release} does not rewrite {what}"),
                format!("upgrade to Istio {since}"),
            ),
            _ => (
                format!("istiod is told not to rewrite {what}"),
                "take `REWRITE_TCP_PROBES` out of istiod".to_owned(),
            ),
        };
        let fate = match handler.verdict.outcome {
            Outcome::AlwaysPasses => "can never fail",
            _ => "will fail",
        };
        let message = format!(
            "{} {fate}: {why}, so it meets the sidecar on port {} ({})",
            handler.title(),
            handler.port_said(),
            handler.verdict.cause.describe(),
        );
        let span = handler.handler.key.span();
        let mut finding = scene::about_handler(rule, pod, handler, span, message);
        finding.help = Some(format!(
            "{cure}, or use a probe that runs inside the container (`exec`)"
        ));
        found.push(finding);
    }
    found
}

/// The kubelet's request ends at the sidecar, which spoils it.
const fn meets_sidecar(cause: Cause) -> bool {
    matches!(
        cause,
        Cause::PlaintextAtStrict
            | Cause::HttpsAtStrict
            | Cause::SidecarAccepts
            | Cause::HttpsAtHttpPort
            | Cause::GrpcAtHttp1Port
            | Cause::HttpAtHttp2Port
    )
}
