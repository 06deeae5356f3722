//! Rule `status-port-in-include-list`, documented in `docs/rules/status-port-in-include-list.md`.

use meshprobe_mesh::finding::{Applicability, Finding, Fix, Severity};
use meshprobe_mesh::mesh::istio::{annotations, keys};
use meshprobe_predict::predict::{Cause, HandlerPrediction, WorkloadPrediction};
use meshprobe_yaml::{Change, Value};

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;
use crate::rules::support::pod_metadata;

declare_rule! {
    "status-port-in-include-list", Error, fix: Sometimes, scope: Workloads
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.pods().flat_map(|pod| report(cx, pod)).collect()
}

/// Returns the handlers that fail because the sidecar captures the agent's port that they target, each with that
/// port.
pub(in crate::rules) fn captured<'p, 't>(
    pod: &'p WorkloadPrediction<'t>,
) -> impl Iterator<Item = (&'p HandlerPrediction<'t>, i64)> {
    pod.handlers
        .iter()
        .filter(|handler| handler.verdict.cause == Cause::StatusPortCaptured)
        .filter_map(|handler| {
            let rewritten_port = handler
                .rewritten_to
                .as_ref()
                .map(|rewritten_to| rewritten_to.port);
            Some((handler, rewritten_port.or(handler.port)?))
        })
}

/// Returns a handler that would fail if mutual TLS were `STRICT`.
pub(in crate::rules) fn in_danger<'p, 't>(
    pod: &'p WorkloadPrediction<'t>,
) -> Option<&'p HandlerPrediction<'t>> {
    let is_captured = pod
        .status_port_captured
        .as_ref()
        .is_some_and(|captured| captured.value);
    pod.handlers
        .iter()
        .find(|handler| {
            handler.verdict.cause == Cause::Rewritten
                && handler
                    .rewritten_to
                    .as_ref()
                    .is_some_and(|rewritten_to| rewritten_to.port == pod.status_port.value)
        })
        .filter(|_| is_captured)
}

/// Returns whether the list of captured ports (`includeInboundPorts`) contains a port.
pub(in crate::rules) fn is_listed<'t>(
    cx: &RuleContext<'_, 't>,
    pod: &WorkloadPrediction<'t>,
    port: i64,
) -> bool {
    let list = cx.context.istio(&pod.workload).ports().included();
    list.is_some_and(|list| annotations::ports(&list.value).any(|listed| listed == port))
}

fn report<'t>(cx: &RuleContext<'_, 't>, pod: &WorkloadPrediction<'t>) -> Vec<Finding> {
    let mut findings: Vec<Finding> = captured(pod)
        .filter(|(_, port)| is_listed(cx, pod, *port))
        .map(|(handler, port)| {
            let message = format!(
                "{} will fail: `includeInboundPorts` contains the agent's port {port}, so the \
                 sidecar captures it, and `STRICT` mutual TLS refuses plain text",
                handler.title(),
            );
            let span = handler.handler.key.span();
            let finding = RULE.finding_on_handler(pod, handler, span, message);
            with_help(finding, pod, port, true)
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
    let handler = in_danger(pod).filter(|_| is_listed(cx, pod, port))?;
    let message = format!(
        "`includeInboundPorts` contains the agent's port {port}: all rewritten probes of the pod \
         fail as soon as mutual TLS is `STRICT`"
    );
    let span = handler.handler.key.span();
    let mut finding = RULE.finding_on_workload(&pod.workload, span, message);
    finding.severity = Severity::Note;
    if let Some(captured) = &pod.status_port_captured {
        finding.depend_on(captured);
    }
    finding.depend_on(&pod.dataplane);
    Some(with_help(finding, pod, port, false))
}

fn with_help(
    mut finding: Finding,
    pod: &WorkloadPrediction<'_>,
    port: i64,
    fails: bool,
) -> Finding {
    finding.help = Some(format!(
        "remove {port} from the list: the agent does not need the sidecar"
    ));
    finding.fix = fix(pod, port, fails);
    finding
}

fn fix(pod: &WorkloadPrediction<'_>, port: i64, fails: bool) -> Option<Fix> {
    let template = &pod.workload.template;
    let entry = template.annotation(keys::INCLUDE_INBOUND_PORTS)?;
    let remaining = pod_metadata::without_port(entry.value.text()?, port);
    let wanted = if remaining.is_empty() {
        Applicability::unsafe_because("the list is then empty, and the sidecar captures no port")
    } else if fails {
        Applicability::Safe
    } else {
        Applicability::unsafe_because(format!(
            "the sidecar then no longer captures port {port}, which works now because plain text is accepted"
        ))
    };
    let change = Change::Set {
        route: template.annotation_route(keys::INCLUDE_INBOUND_PORTS),
        value: Value::Str(remaining),
    };
    let title = format!("remove {port} from the list");
    let applicability = pod_metadata::removal_applicability(pod, &[], wanted);
    Some(Fix::of_object(
        &pod.workload.object,
        title,
        applicability,
        vec![change],
    ))
}
