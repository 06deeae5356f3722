//! Rule `rewritten-status-port-differs`, documented in `docs/rules/rewritten-status-port-differs.md`.

use meshprobe_mesh::finding::{Applicability, Finding, Fix};
use meshprobe_predict::predict::{Cause, HandlerPrediction, WorkloadPrediction};
use meshprobe_yaml::{Change, Value};

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;

declare_rule! {
    "rewritten-status-port-differs", Error, fix: Sometimes, scope: Workloads
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.handlers()
        .filter_map(|(pod, handler)| report(cx, pod, handler))
        .collect()
}

fn report<'t>(
    cx: &RuleContext<'_, 't>,
    pod: &WorkloadPrediction<'t>,
    handler: &HandlerPrediction<'t>,
) -> Option<Finding> {
    let title = handler.title();
    let written = handler.port.unwrap_or_default();
    let agent = pod.agent_port.value;
    let (field, message) = match handler.verdict.cause {
        Cause::HttpsAtAgent => (
            "scheme",
            format!(
                "{title} will fail: it targets the agent with HTTPS, but the agent supports only \
                 plain HTTP"
            ),
        ),
        Cause::RewrittenOtherPort if handler.rewritten => (
            "port",
            format!(
                "{title} will fail: the injector does not recognize port {written} as the port of the \
                 agent, and makes the agent check the pod on this port, where nothing listens",
            ),
        ),
        Cause::RewrittenOtherPort => (
            "port",
            format!(
                "{title} will fail: it targets the agent on port {written}, but the agent of this pod \
                 listens on {agent}",
            ),
        ),
        _ => return None,
    };
    let span = handler.handler.field_span(field);
    let mut finding = RULE.finding_on_handler(pod, handler, span, message);
    finding.fix = fix(cx, pod, handler);
    if field == "scheme" {
        let help = "set `scheme: HTTP`; the agent itself uses HTTPS for the application";
        finding.help = Some(help.to_owned());
    } else if finding.fix.is_none() {
        let help = "set the port of the agent to a number from 1 to 65535, and use it in the probe";
        finding.help = Some(help.to_owned());
    }
    Some(finding)
}

fn fix<'t>(
    cx: &RuleContext<'_, 't>,
    pod: &WorkloadPrediction<'t>,
    handler: &HandlerPrediction<'t>,
) -> Option<Fix> {
    let object = &pod.workload.object;
    let route = handler.handler.route.child("httpGet");
    if handler.verdict.cause == Cause::HttpsAtAgent {
        let value = Value::from("HTTP");
        let change = Change::Set {
            route: route.child("scheme"),
            value,
        };
        let title = "set `scheme: HTTP`";
        return Some(Fix::of_object(
            object,
            title,
            Applicability::unsafe_because(
                "it changes the scheme with which the kubelet probes the agent",
            ),
            vec![change],
        ));
    }
    // The injector itself moves a probe that targets the status port of the mesh.
    let port = if handler.rewritten {
        cx.context.istio(&pod.workload).ports().mesh_status().value
    } else {
        pod.agent_port.value
    };
    if !(1..=65535).contains(&port) {
        return None;
    }
    let change = Change::Set {
        route: route.child("port"),
        value: Value::Int(port),
    };
    let title = format!("set `port: {port}`");
    Some(Fix::of_object(
        object,
        title,
        Applicability::unsafe_because("it changes the port that the kubelet probes"),
        vec![change],
    ))
}
