//! Rule `probe-port-excluded-cleartext`, documented in `docs/rules/probe-port-excluded-cleartext.md`.

use meshprobe_mesh::finding::{Applicability, Finding, Fix};
use meshprobe_mesh::mesh::istio::mtls::MtlsMode;
use meshprobe_mesh::mesh::istio::{annotations, keys};
use meshprobe_predict::context::Dataplane;
use meshprobe_predict::predict::{HandlerPrediction, WorkloadPrediction};
use meshprobe_yaml::{Change, Entry, Value};

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;
use crate::rules::support::pod_metadata::{self, MetadataMap};

declare_rule! {
    "probe-port-excluded-cleartext", Warning, fix: Sometimes, scope: Workloads
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.pods()
        .filter(|pod| pod.dataplane.value == Dataplane::Sidecar)
        .flat_map(|pod| report(cx, pod))
        .collect()
}

fn report<'t>(cx: &RuleContext<'_, 't>, pod: &WorkloadPrediction<'t>) -> Vec<Finding> {
    let workload = &pod.workload;
    let Some(entry) = workload.template.annotation(keys::EXCLUDE_INBOUND_PORTS) else {
        return Vec::new();
    };
    let list = entry.value.text().unwrap_or_default();
    annotations::ports(list).filter_map(|port| {
        let is_probe_of_port = |handler: &&HandlerPrediction<'_>| {
            handler.port == Some(port) && !handler.handler.slot.is_lifecycle()
        };
        let handler = pod.handlers.iter().find(is_probe_of_port)?;
        let service = cx.context.services(workload).exposing(port)?;
        let mtls = cx.context.istio(workload).mtls(port);
        let is_uncaptured = !cx.context.istio(workload).ports().capture(port).value;
        if !is_uncaptured || mtls.value != MtlsMode::Strict {
            return None;
        }
        let message = format!(
            "port {port} bypasses the sidecar, apparently for the {}: `STRICT` mutual TLS and \
             AuthorizationPolicies are not enforced there for the clients of the Service either",
            handler.title(),
        );
        let mut finding = pod_metadata::finding_on_entry(&RULE, workload, MetadataMap::Annotation, entry, message);
        finding.related.push(service);
        finding.depend_on(&mtls);
        finding.depend_on(&pod.dataplane);
        let all_rewritten = pod
            .handlers
            .iter()
            .filter(is_probe_of_port)
            .all(|handler| handler.rewritten);
        finding.help = Some(if all_rewritten {
            format!(
                "remove {port}: the agent sends the probe to the application, so the probe does not \
                 need the exception"
            )
        } else {
            format!("enable the probe rewrite for the pod, then remove {port}")
        });
        finding.fix = all_rewritten.then(|| fix(pod, entry, port)).flatten();
        Some(finding)
    })
    .collect()
}

fn fix(pod: &WorkloadPrediction<'_>, entry: Entry<'_>, port: i64) -> Option<Fix> {
    let template = &pod.workload.template;
    let remaining = pod_metadata::without_port(entry.value.text()?, port);
    let wanted = Applicability::unsafe_because(format!(
        "the sidecar then refuses clients that send plain text to port {port}"
    ));
    let (changes, applicability) = if remaining.is_empty() {
        (
            pod_metadata::removal_changes(
                template,
                MetadataMap::Annotation,
                &[keys::EXCLUDE_INBOUND_PORTS],
            ),
            pod_metadata::removal_applicability(pod, &[entry], wanted),
        )
    } else {
        let route = template.annotation_route(keys::EXCLUDE_INBOUND_PORTS);
        let value = Value::Str(remaining);
        (vec![Change::Set { route, value }], wanted)
    };
    let title = format!("remove port {port}, so that the sidecar captures it");
    Some(Fix::of_object(
        &pod.workload.object,
        title,
        applicability,
        changes,
    ))
}
