//! Rules that only state a verdict in words, and those about the ports of the proxy.

use std::borrow::Cow;

use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::kube::{Container, ContainerList, ContainerPort};
use meshprobe_mesh::mesh::Mesh;
use meshprobe_predict::context::Dataplane;
use meshprobe_predict::predict::{Cause, HandlerPrediction, WorkloadPrediction, port_owner};

use crate::rules::{Rule, RuleContext};

/// What a rule reports about the handlers whose verdict has a cause: the cause; the field that the finding points at, or
/// nothing for the key of the handler, such as `httpGet`; the message after the name of the handler; the advice after
/// `help:`.
type Verdict = (
    Cause,
    &'static str,
    fn(&HandlerPrediction<'_>) -> Cow<'static, str>,
    &'static str,
);

/// Returns a finding for each handler of a mesh whose verdict has one of the causes.
pub(in crate::rules) fn report_verdicts(
    cx: &RuleContext<'_, '_>,
    rule: &Rule,
    mesh: Mesh,
    verdicts: &[Verdict],
) -> Vec<Finding> {
    let handlers = cx
        .handlers()
        .filter(|(pod, _)| pod.mesh.value == Some(mesh));
    handlers
        .filter_map(|(pod, handler)| {
            let mut verdicts = verdicts.iter();
            let (_, field, text, help) =
                verdicts.find(|(cause, ..)| handler.verdict.cause == *cause)?;
            let span = match *field {
                "" => handler.handler.kind_span(),
                field => handler.handler.field_span(field),
            };
            let message = format!("{} {}", handler.title(), text(handler));
            let mut finding = rule.finding_on_handler(pod, handler, span, message);
            finding.help = Some((*help).to_owned());
            Some(finding)
        })
        .collect()
}

/// Returns a finding for every declared port that the proxy uses.
pub(in crate::rules) fn proxy_port_findings(
    cx: &RuleContext<'_, '_>,
    rule: &Rule,
    mesh: Mesh,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for pod in cx.pods().filter(|pod| is_to_be_injected(cx, pod, mesh)) {
        for container in pod.workload.template.containers_in(ContainerList::Main) {
            for port in container.ports() {
                let purpose = port.number.and_then(|number| port_owner(pod, number));
                findings.extend(
                    purpose.and_then(|purpose| {
                        report_proxy_port(rule, pod, &container, &port, purpose)
                    }),
                );
            }
        }
    }
    findings
}

/// Returns whether the mesh will inject the pod. A pod that already contains the proxy may declare its ports.
fn is_to_be_injected(cx: &RuleContext<'_, '_>, pod: &WorkloadPrediction<'_>, mesh: Mesh) -> bool {
    pod.mesh.value == Some(mesh)
        && pod.dataplane.value == Dataplane::Other
        && !cx.context.mesh_of(&pod.workload).brings_proxy()
}

fn report_proxy_port(
    rule: &Rule,
    pod: &WorkloadPrediction<'_>,
    container: &Container<'_>,
    port: &ContainerPort<'_>,
    purpose: &str,
) -> Option<Finding> {
    let message = format!(
        "container `{}` listens on port {}, on which the proxy also listens ({purpose})",
        container.name(),
        port.number?
    );
    let entry = port.node.entry("containerPort")?;
    let mut finding = rule.finding_on_workload(&pod.workload, entry.value.span(), message);
    finding.container = Some(container.name().to_owned());
    finding.depend_on(&pod.dataplane);
    finding.help = Some("let the application listen on another port".to_owned());
    Some(finding)
}
