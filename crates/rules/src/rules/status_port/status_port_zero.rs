//! Rule `status-port-zero`, documented in `docs/rules/status-port-zero.md`.

use meshprobe_mesh::finding::{Applicability, Finding, Fix};
use meshprobe_mesh::mesh::istio::{annotations, keys};
use meshprobe_predict::predict::{Cause, HandlerPrediction, WorkloadPrediction};
use meshprobe_yaml::{Change, Value};

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;
use crate::rules::support::pod_metadata::{self, MetadataMap};

declare_rule! {
    "status-port-zero", Error, fix: Sometimes, scope: Workloads
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
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
        .map(|(pod, handler)| report(pod, handler))
        .collect()
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Finding {
    let message = format!(
        "{} makes the API server refuse the pod: Istio reads the agent's port as {}, and the \
         injector rewrites the probe to that port",
        handler.title(),
        pod.status_port.value,
    );
    let span = handler.handler.key.span();
    let mut finding = RULE.finding_on_handler(pod, handler, span, message);
    let help = "set a port from 1 to 65535, without blanks, or remove the setting";
    finding.help = Some(help.to_owned());
    finding.fix = fix(pod);
    finding
}

fn fix(pod: &WorkloadPrediction<'_>) -> Option<Fix> {
    let template = &pod.workload.template;
    let entry = template.annotation(keys::STATUS_PORT)?;
    let port = entry.value.text()?.trim();
    let object = &pod.workload.object;
    if port.parse::<u16>().is_ok_and(|port| port > 0) {
        let change = Change::Set {
            route: template.annotation_route(keys::STATUS_PORT),
            value: Value::from(port),
        };
        let title = format!("set the port to `\"{port}\"`, without blanks");
        return Some(Fix::of_object(
            object,
            title,
            Applicability::unsafe_because("pods that are refused now then start"),
            vec![change],
        ));
    }
    let wanted = Applicability::unsafe_because("pods that are refused now then start");
    let degree = pod_metadata::removal_applicability(pod, &[entry], wanted);
    let changes =
        pod_metadata::removal_changes(template, MetadataMap::Annotation, &[keys::STATUS_PORT]);
    let title = format!(
        "remove `{}`, so that the port of the mesh applies",
        keys::STATUS_PORT
    );
    Some(Fix::of_object(object, title, degree, changes))
}
