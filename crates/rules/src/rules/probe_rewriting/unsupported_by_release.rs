//! Helpers of the rules about probes that a release of the mesh does not rewrite, but later releases do.

use meshprobe_mesh::finding::Finding;
use meshprobe_predict::predict::{Cause, HandlerPrediction, Outcome, UnsupportedByRelease};

use crate::rules::{Rule, RuleContext};

/// Returns a finding for every probe that the release does not rewrite and that the sidecar breaks. `what`
/// returns the kind of the probe for the message, or `None` if the rule does not report it.
pub(in crate::rules) fn report(
    rule: &Rule,
    cx: &RuleContext<'_, '_>,
    what: impl Fn(&HandlerPrediction<'_>) -> Option<&'static str>,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (pod, handler) in cx.handlers() {
        let (Some(gap), Some(what)) = (handler.unsupported, what(handler)) else {
            continue;
        };
        // A separate rule reports hooks.
        if handler.handler.slot.is_lifecycle() || !meets_sidecar(handler.verdict.cause) {
            continue;
        }
        let (why, help) = match (gap, pod.release.value) {
            (UnsupportedByRelease::Release(since), Some(release)) => (
                format!("Istio {release} does not rewrite {what}"),
                format!("upgrade to Istio {since}"),
            ),
            _ => (
                format!("istiod is configured not to rewrite {what}"),
                "remove `REWRITE_TCP_PROBES` from istiod".to_owned(),
            ),
        };
        let outcome = match handler.verdict.outcome {
            Outcome::AlwaysPasses => "always succeeds",
            _ => "will fail",
        };
        let message = format!(
            "{} {outcome}: {why}, so it reaches the sidecar on port {} ({})",
            handler.title(),
            handler.port_for_message(),
            handler.verdict.cause.describe(),
        );
        let span = handler.handler.key.span();
        let mut finding = rule.finding_on_handler(pod, handler, span, message);
        finding.help = Some(format!(
            "{help}, or use an `exec` probe, which runs inside the container"
        ));
        findings.push(finding);
    }
    findings
}

/// Returns whether the sidecar receives the request of the kubelet and breaks it.
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
