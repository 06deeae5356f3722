//! Rule `kuma-probe-port-unprotected`, documented in `docs/rules/kuma-probe-port-unprotected.md`.

use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::mesh::Mesh;
use meshprobe_predict::predict::{Cause, HandlerPrediction, WorkloadPrediction};

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;

declare_rule! {
    "kuma-probe-port-unprotected", Note, fix: None, scope: Workloads
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.handlers()
        .filter_map(|(pod, handler)| report(pod, handler))
        .collect()
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Option<Finding> {
    if pod.mesh.value != Some(Mesh::KUMA) || handler.verdict.cause != Cause::NotCaptured {
        return None;
    }
    let message = format!(
        "{} excludes port {} from the mesh for all clients",
        handler.title(),
        handler.port.unwrap_or_default()
    );
    let span = handler.handler.field_span("port");
    let mut finding = RULE.finding_on_handler(pod, handler, span, message);
    finding.outcome = None;
    finding.help =
        Some("serve health checks on a separate port, or use the probe proxy".to_owned());
    Some(finding)
}
