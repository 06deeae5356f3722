//! Rule `kuma-gateway-annotation-false`, documented in `docs/rules/kuma-gateway-annotation-false.md`.

use meshprobe_mesh::finding::{Finding, Severity};
use meshprobe_mesh::mesh::kuma::{GATEWAY, PROXY_PORT, faults, switches_off};
use meshprobe_mesh::mesh::{Mesh, Version};
use meshprobe_predict::predict::{Cause, HandlerPrediction, WorkloadPrediction};

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;

declare_rule! {
    "kuma-gateway-annotation-false", Error, fix: None, scope: Workloads
}

const REMOVE: &str =
    "remove the annotation `kuma.io/gateway`; without it the pod is not a gateway either";

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.handlers()
        .filter_map(|(pod, handler)| report(pod, handler))
        .collect()
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Option<Finding> {
    if pod.mesh.value != Some(Mesh::KUMA) {
        return None;
    }
    match handler.verdict.cause {
        Cause::Other(fault) if fault == &faults::AGENT_OFF => Some(report_closed(pod, handler)),
        Cause::MeshDecides => report_unchanged(pod, handler),
        _ => None,
    }
}

/// Reports a probe that the webhook does not rewrite because the annotation exists, up to 2.14. Whether the kubelet
/// reaches the port then depends on mutual TLS.
fn report_unchanged(
    pod: &WorkloadPrediction<'_>,
    handler: &HandlerPrediction<'_>,
) -> Option<Finding> {
    let entry = pod.workload.template.annotation(GATEWAY)?;
    let is_negative = switches_off(entry.value.text()?);
    let is_old = pod
        .release
        .value
        .is_some_and(|release| release < Version::new(3, 0));
    if !is_negative || !is_old || handler.handler.slot.is_lifecycle() {
        return None;
    }
    let message = format!(
        "{} is not rewritten: the annotation `{GATEWAY}` switches off the probe proxy, whatever its value",
        handler.title()
    );
    let span = handler.handler.kind_span();
    let mut finding = RULE.finding_on_handler(pod, handler, span, message);
    finding.severity = Severity::Warning;
    let place = pod
        .workload
        .object
        .label_at(entry.key.span(), "the annotation is set here");
    finding.related.push(place);
    finding.help = Some(REMOVE.to_owned());
    finding.depend_on(&pod.release);
    Some(finding)
}

fn report_closed(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Finding {
    let message = format!(
        "{} fails: the probe proxy of Kuma is off, so its port is closed",
        handler.title()
    );
    let span = handler.handler.kind_span();
    let mut finding = RULE.finding_on_handler(pod, handler, span, message);
    let has_annotation = pod.workload.template.annotation(GATEWAY).is_some();
    finding.help = Some(if has_annotation {
        REMOVE.to_owned()
    } else {
        format!("set the port of the application, or set `{PROXY_PORT}` to a port")
    });
    finding
}
