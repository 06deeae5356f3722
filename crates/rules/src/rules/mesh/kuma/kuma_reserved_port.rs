//! Rule `kuma-reserved-port`, documented in `docs/rules/kuma-reserved-port.md`.

use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::mesh::Mesh;
use meshprobe_mesh::mesh::kuma::faults;
use meshprobe_predict::predict::{Cause, HandlerPrediction, WorkloadPrediction};

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;
use crate::rules::support::proxy_ports;

declare_rule! {
    "kuma-reserved-port", Error, fix: None, scope: Workloads
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    let probes = cx
        .handlers()
        .filter_map(|(pod, handler)| report(pod, handler));
    let declared = proxy_ports::findings(cx, &RULE, Mesh::KUMA);
    probes.chain(declared).collect()
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Option<Finding> {
    if pod.mesh.value != Some(Mesh::KUMA)
        || handler.verdict.cause != Cause::Other(&faults::POD_REFUSED)
    {
        return None;
    }
    let message = format!(
        "Kuma refuses the pod: {} targets port {}, which belongs to the probe proxy",
        handler.title(),
        handler.port.unwrap_or_default()
    );
    let span = handler.handler.field_span("port");
    let mut finding = RULE.finding_on_handler(pod, handler, span, message);
    finding.help =
        Some("set the port of the application; Kuma rewrites the probe at admission".to_owned());
    Some(finding)
}
