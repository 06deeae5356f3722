//! Rule `status-port-per-pod-proxyconfig`, documented in `docs/rules/status-port-per-pod-proxyconfig.md`.

use meshprobe_mesh::finding::{Applicability, Finding, Fix};
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_predict::predict::{Cause, HandlerPrediction, WorkloadPrediction};
use meshprobe_yaml::{Change, Value};

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;
use crate::rules::support::pod_metadata;

declare_rule! {
    "status-port-per-pod-proxyconfig", Error, fix: Always, scope: Workloads
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.handlers()
        .filter(|(_, handler)| handler.verdict.cause == Cause::StatusPortMismatch)
        .map(|(pod, handler)| report(pod, handler))
        .collect()
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Finding {
    let (target, agent) = (pod.status_port.value, pod.agent_port.value);
    let message = format!(
        "{} will fail: the injector rewrites it to port {target}, but `{}` moves the agent to port \
         {agent}",
        handler.title(),
        keys::PROXY_CONFIG,
    );
    let span = handler.handler.key.span();
    let mut finding = RULE.finding_on_handler(pod, handler, span, message);
    let key = keys::STATUS_PORT;
    finding.help = Some(format!(
        "set the agent's port with `{key}`, which the injector and traffic capture also use"
    ));
    let change = Change::Set {
        route: pod.workload.template.annotation_route(key),
        value: Value::Str(agent.to_string()),
    };
    finding.fix = Some(Fix::of_object(
        &pod.workload.object,
        format!("add `{key}: \"{agent}\"`"),
        pod_metadata::removal_applicability(pod, &[], Applicability::Safe),
        vec![change],
    ));
    finding
}
