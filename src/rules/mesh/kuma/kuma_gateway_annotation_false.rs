//! Rule `kuma-gateway-annotation-false`, documented in `docs/rules/kuma-gateway-annotation-false.md`.

use crate::finding::Finding;
use crate::mesh::Mesh;
use crate::mesh::kuma::{GATEWAY, PROXY_PORT, faults};
use crate::predict::{Cause, HandlerPrediction, WorkloadPrediction};
use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;

declare_rule! {
    "kuma-gateway-annotation-false", Error, fix: None, scope: Workloads
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.handlers()
        .filter_map(|(pod, handler)| report(pod, handler))
        .collect()
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Option<Finding> {
    if pod.mesh.value != Some(Mesh::KUMA)
        || handler.verdict.cause != Cause::Other(&faults::AGENT_OFF)
    {
        return None;
    }
    let message = format!(
        "{} fails: the probe proxy of Kuma is off, so its port is closed",
        handler.title()
    );
    let span = handler.handler.kind_span();
    let mut finding = RULE.finding_on_handler(pod, handler, span, message);
    let has_annotation = pod.workload.template.annotation(GATEWAY).is_some();
    finding.help = Some(if has_annotation {
        "remove the annotation `kuma.io/gateway`; without it the pod is not a gateway either"
            .to_owned()
    } else {
        format!("set the port of the application, or set `{PROXY_PORT}` to a port")
    });
    Some(finding)
}
