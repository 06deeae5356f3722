//! Rule `status-port-mesh-mismatch`, documented in `docs/rules/status-port-mesh-mismatch.md`.

use meshprobe_mesh::finding::{Finding, Severity};
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_predict::predict::WorkloadPrediction;

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;
use crate::rules::traffic_capture::status_port_in_include_list::{captured, in_danger, is_listed};

declare_rule! {
    "status-port-mesh-mismatch", Error, fix: None, scope: Workloads
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.pods().flat_map(|pod| report(cx, pod)).collect()
}

fn report<'t>(cx: &RuleContext<'_, 't>, pod: &WorkloadPrediction<'t>) -> Vec<Finding> {
    // Rule `status-port-in-include-list` reports a list of ports that contains the port.
    let mut findings: Vec<Finding> = captured(pod)
        .filter(|(_, port)| !is_listed(cx, pod, *port))
        .map(|(handler, port)| {
            let message = format!(
                "{} will fail: the sidecar captures the agent's port {port}, where `STRICT` mutual \
                 TLS refuses plain text; port {} is excluded from capture instead",
                handler.title(),
                cx.context.istio(&pod.workload).ports().excluded().value,
            );
            let span = handler.handler.key.span();
            let mut finding = RULE.finding_on_handler(pod, handler, span, message);
            finding.help = Some(help(cx, pod, port));
            finding
        })
        .collect();
    if findings.is_empty() {
        findings.extend(report_risk(cx, pod));
    }
    findings
}

/// Reports a pod whose probes do not fail yet, because plain text is still accepted.
fn report_risk<'t>(cx: &RuleContext<'_, 't>, pod: &WorkloadPrediction<'t>) -> Option<Finding> {
    let port = pod.status_port.value;
    let handler = in_danger(pod).filter(|_| !is_listed(cx, pod, port))?;
    let excluded = cx.context.istio(&pod.workload).ports().excluded();
    let message = format!(
        "the sidecar captures the agent's port {port}: all rewritten probes of the pod fail as \
         soon as mutual TLS is `STRICT`, because port {} is excluded from capture instead",
        excluded.value,
    );
    let span = handler.handler.key.span();
    let mut finding = RULE.finding_on_workload(&pod.workload, span, message);
    finding.severity = Severity::Note;
    finding.depend_on(&pod.status_port);
    finding.depend_on(&excluded);
    finding.depend_on(&pod.dataplane);
    finding.help = Some(help(cx, pod, port));
    Some(finding)
}

fn help<'t>(cx: &RuleContext<'_, 't>, pod: &WorkloadPrediction<'t>, port: i64) -> String {
    if port == cx.context.istio(&pod.workload).ports().mesh_status().value {
        return format!(
            "set `meshConfig.defaultConfig.statusPort` and `global.proxy.statusPort` both to {port}"
        );
    }
    let key = keys::STATUS_PORT;
    format!("set the agent's port with `{key}`, which is also excluded from capture")
}
