//! Rules for the agent's port (`statusPort`) and the ports of the sidecar.

use meshprobe_mesh::finding::{Applicability, Finding, Fix, Sentence, Severity};
use meshprobe_mesh::kube::ProbeHandler;
use meshprobe_mesh::mesh::istio::{annotations, keys};
use meshprobe_predict::predict::{
    Cause, HandlerPrediction, Outcome, WorkloadPrediction, port_owner,
};
use meshprobe_yaml::Change;

use crate::rules::RuleContext;
use crate::rules::support::pod_metadata::{self, MetadataMap};
use crate::rules::support::verdicts;

crate::rules::rule::rules! {
    APP_PROBE_ON_STATUS_PORT = "app-probe-on-status-port", Error, fix: None, scope: Workloads,
        |cx| verdicts::report(cx, &APP_PROBE_ON_STATUS_PORT, None, &[
            (Cause::PortOfAgent, "port",
            |_, handler| {
                let (one, many) = match handler.verdict.outcome {
                    Outcome::AlwaysPasses => ("always succeeds", "always succeed"),
                    _ => ("will fail", "will fail"),
                };
                let end = "to the agent in the sidecar, so the agent answers instead of the application";
                let [one_port, several] = ["belongs", "belong"].map(|verb| format!(" {verb} {end}"));
                Sentence::verb((one, many), ": ").ports(handler.port.unwrap_or_default(), &one_port, [&one_port, &several])
            },
            "set the port of the application; the sidecar has its own probe"),
        ]);
    PROBE_ON_RESERVED_PORT = "probe-on-reserved-port", Warning, fix: None, scope: Workloads,
        |cx| cx.each_handler(probe_on_reserved_port);
    STATUS_PORT_MESH_MISMATCH = "status-port-mesh-mismatch", Error, fix: None, scope: Workloads,
        |cx| cx.pods().flat_map(|pod| status_port_mesh_mismatch(cx, pod)).collect();
    STATUS_PORT_PER_POD_PROXYCONFIG = "status-port-per-pod-proxyconfig", Error, fix: Always, scope: Workloads,
        |cx| cx.each_with(Cause::StatusPortMismatch, status_port_per_pod_proxyconfig);
    STATUS_PORT_ZERO = "status-port-zero", Error, fix: Sometimes, scope: Workloads, check_status_port_zero;
    STATUS_PORT_IN_INCLUDE_LIST = "status-port-in-include-list", Error, fix: Sometimes, scope: Workloads,
        |cx| cx.pods().flat_map(|pod| status_port_in_include_list(cx, pod)).collect();
}

fn probe_on_reserved_port(
    pod: &WorkloadPrediction<'_>,
    handler: &HandlerPrediction<'_>,
) -> Option<Finding> {
    let action = handler.handler.action.as_ref().ok()?;
    let has_other_target = action.host().is_some() || handler.agent_path().is_some();
    // The answer to a probe that the mesh rewrote to this port depends on the application.
    let is_forwarded = matches!(
        handler.verdict.cause,
        Cause::ForwardedByProxy | Cause::CheckedByHelper
    );
    if has_other_target || is_forwarded || handler.verdict.outcome != Outcome::Ok {
        return None;
    }
    let port = handler.port?;
    let owner = port_owner(pod, port)?;
    let sentence = Sentence::each(format!(
        "targets port {port} of the sidecar ({owner}): its result does not depend on the application"
    ));
    let span = handler.handler.field_span("port");
    let mut finding = PROBE_ON_RESERVED_PORT.finding_on_handler(pod, handler, span, sentence);
    finding.outcome = None;
    let kind = ProbeHandler::key(action);
    finding.help = Some(format!(
        "set the port of the application in `{kind}`; the sidecar has its own probe"
    ));
    Some(finding)
}

fn status_port_mesh_mismatch<'t>(
    cx: &RuleContext<'_, 't>,
    pod: &WorkloadPrediction<'t>,
) -> Vec<Finding> {
    // Rule `status-port-in-include-list` reports a list of ports that contains the port.
    let mut findings: Vec<Finding> = captured_handlers(pod)
        .filter(|(_, port)| !is_listed(cx, pod, *port))
        .map(|(handler, port)| {
            let excluded = cx.context.pod_facts(&pod.workload).excluded_port().value;
            let end = format!(
                ", where `STRICT` mutual TLS refuses plain text; port {excluded} is excluded from capture instead"
            );
            let sentence =
                Sentence::all("will fail: the sidecar captures the agent's ").port(port, end);
            let span = handler.handler.key.span();
            let mut finding =
                STATUS_PORT_MESH_MISMATCH.finding_on_handler(pod, handler, span, sentence);
            finding.help = Some(help(cx, pod, port));
            finding
        })
        .collect();
    if findings.is_empty() {
        findings.extend(report_risk_status_port_mesh_mismatch(cx, pod));
    }
    findings
}

/// Reports a pod whose probes do not fail yet, because plain text is still accepted.
fn report_risk_status_port_mesh_mismatch<'t>(
    cx: &RuleContext<'_, 't>,
    pod: &WorkloadPrediction<'t>,
) -> Option<Finding> {
    let port = pod.status_port.value;
    let handler = in_danger(pod).filter(|_| !is_listed(cx, pod, port))?;
    let excluded = cx.context.pod_facts(&pod.workload).excluded_port();
    let message = format!(
        "the sidecar captures the agent's port {port}: all rewritten probes of the pod fail as \
         soon as mutual TLS is `STRICT`, because port {} is excluded from capture instead",
        excluded.value,
    );
    let span = handler.handler.key.span();
    let mut finding = STATUS_PORT_MESH_MISMATCH.finding_on_workload(&pod.workload, span, message);
    finding.severity = Severity::Note;
    finding.depend_on(&pod.status_port);
    finding.depend_on(&excluded);
    finding.depend_on(&pod.dataplane);
    finding.help = Some(help(cx, pod, port));
    Some(finding)
}

fn help<'t>(cx: &RuleContext<'_, 't>, pod: &WorkloadPrediction<'t>, port: i64) -> String {
    if port == cx.context.pod_facts(&pod.workload).mesh_status_port().value {
        return format!(
            "set `meshConfig.defaultConfig.statusPort` and `global.proxy.statusPort` both to {port}"
        );
    }
    let key = keys::STATUS_PORT;
    format!("set the agent's port with `{key}`, which is also excluded from capture")
}

fn status_port_per_pod_proxyconfig(
    pod: &WorkloadPrediction<'_>,
    handler: &HandlerPrediction<'_>,
) -> Finding {
    let (target, agent) = (pod.status_port.value, pod.agent_port.value);
    let sentence = Sentence::each(format!(
        "will fail: the injector rewrites it to port {target}, but `{}` moves the agent to port {agent}",
        keys::PROXY_CONFIG
    ));
    let span = handler.handler.key.span();
    let mut finding =
        STATUS_PORT_PER_POD_PROXYCONFIG.finding_on_handler(pod, handler, span, sentence);
    let key = keys::STATUS_PORT;
    finding.help = Some(format!(
        "set the agent's port with `{key}`, which the injector and traffic capture also use"
    ));
    let change = Change::set(
        pod.workload.template.annotation_route(key),
        agent.to_string(),
    );
    finding.fix = Some(Fix::of_object(
        &pod.workload.object,
        format!("add `{key}: \"{agent}\"`"),
        pod_metadata::removal_applicability(pod, &[], Applicability::Safe),
        vec![change],
    ));
    finding
}

fn check_status_port_zero(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.handlers()
        .filter(|(_, handler)| handler.verdict.cause == Cause::StatusPortZero)
        // Rule `invalid-traffic-annotation` reports values that Istio's own validator refuses.
        .filter(|(pod, _)| {
            pod.workload
                .template
                .annotation(keys::STATUS_PORT)
                .and_then(|entry| entry.value.text())
                .is_none_or(|text| annotations::rejection_reason(keys::STATUS_PORT, text).is_none())
        })
        .map(|(pod, handler)| status_port_zero(pod, handler))
        .collect()
}

fn status_port_zero(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Finding {
    let sentence = Sentence::each(format!(
        "makes the API server refuse the pod: Istio reads the agent's port as {}, and the injector rewrites the probe to that port",
        pod.status_port.value
    ));
    let span = handler.handler.key.span();
    let mut finding = STATUS_PORT_ZERO.finding_on_handler(pod, handler, span, sentence);
    let help = "set a port from 1 to 65535, without blanks, or remove the setting";
    finding.help = Some(help.to_owned());
    finding.fix = fix_status_port_zero(pod);
    finding
}

fn fix_status_port_zero(pod: &WorkloadPrediction<'_>) -> Option<Fix> {
    let template = &pod.workload.template;
    let entry = template.annotation(keys::STATUS_PORT)?;
    let port = entry.value.text()?.trim();
    let object = &pod.workload.object;
    if port.parse::<u16>().is_ok_and(|port| port > 0) {
        let change = Change::set(template.annotation_route(keys::STATUS_PORT), port);
        let title = format!("set the port to `\"{port}\"`, without blanks");
        return Some(Fix::of_object(
            object,
            title,
            Applicability::unsafe_because("pods that are refused now then start"),
            vec![change],
        ));
    }
    let wanted = Applicability::unsafe_because("pods that are refused now then start");
    let key = keys::STATUS_PORT;
    let title = format!("remove `{key}`, so that the port of the mesh applies");
    let place = MetadataMap::Annotation;
    Some(pod_metadata::removal_fix(pod, place, key, title, wanted))
}

/// Returns the handlers that fail because the sidecar captures the agent's port that they target, each with that
/// port.
fn captured_handlers<'p, 't>(
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
fn in_danger<'p, 't>(pod: &'p WorkloadPrediction<'t>) -> Option<&'p HandlerPrediction<'t>> {
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
fn is_listed<'t>(cx: &RuleContext<'_, 't>, pod: &WorkloadPrediction<'t>, port: i64) -> bool {
    let list = cx.context.pod_facts(&pod.workload).included_ports();
    list.is_some_and(|list| annotations::ports(&list.value).any(|listed| listed == port))
}

fn status_port_in_include_list<'t>(
    cx: &RuleContext<'_, 't>,
    pod: &WorkloadPrediction<'t>,
) -> Vec<Finding> {
    let mut findings: Vec<Finding> = captured_handlers(pod)
        .filter(|(_, port)| is_listed(cx, pod, *port))
        .map(|(handler, port)| {
            let sentence = Sentence::each(format!(
                "will fail: `includeInboundPorts` contains the agent's port {port}, so the \
             sidecar captures it, and `STRICT` mutual TLS refuses plain text"
            ));
            let span = handler.handler.key.span();
            let finding =
                STATUS_PORT_IN_INCLUDE_LIST.finding_on_handler(pod, handler, span, sentence);
            with_help(finding, pod, port, true)
        })
        .collect();
    if findings.is_empty() {
        findings.extend(report_risk_status_port_in_include_list(cx, pod));
    }
    findings
}

/// Reports a pod whose probes do not fail yet, because plain text is still accepted.
fn report_risk_status_port_in_include_list<'t>(
    cx: &RuleContext<'_, 't>,
    pod: &WorkloadPrediction<'t>,
) -> Option<Finding> {
    let port = pod.status_port.value;
    let handler = in_danger(pod).filter(|_| is_listed(cx, pod, port))?;
    let message = format!(
        "`includeInboundPorts` contains the agent's port {port}: all rewritten probes of the pod \
         fail as soon as mutual TLS is `STRICT`"
    );
    let span = handler.handler.key.span();
    let mut finding = STATUS_PORT_IN_INCLUDE_LIST.finding_on_workload(&pod.workload, span, message);
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
    finding.fix = fix_status_port_in_include_list(pod, port, fails);
    finding
}

fn fix_status_port_in_include_list(
    pod: &WorkloadPrediction<'_>,
    port: i64,
    fails: bool,
) -> Option<Fix> {
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
    let change = Change::set(
        template.annotation_route(keys::INCLUDE_INBOUND_PORTS),
        remaining,
    );
    let title = format!("remove {port} from the list");
    let applicability = pod_metadata::removal_applicability(pod, &[], wanted);
    Some(Fix::of_object(
        &pod.workload.object,
        title,
        applicability,
        vec![change],
    ))
}
