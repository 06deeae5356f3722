//! Rules that only state a verdict in words, and those about the ports of the proxy.

use meshprobe_mesh::finding::{Finding, Sentence};
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
    fn(&WorkloadPrediction<'_>, &HandlerPrediction<'_>) -> Sentence,
    &'static str,
);

/// Returns a finding for each handler, of one mesh or of all, whose verdict has one of the causes.
pub(in crate::rules) fn report(
    cx: &RuleContext<'_, '_>,
    rule: &Rule,
    mesh: impl Into<Option<Mesh>>,
    verdicts: &[Verdict],
) -> Vec<Finding> {
    let mesh = mesh.into();
    cx.each_handler(|pod, handler| {
        let mut verdicts = verdicts.iter();
        let (_, field, text, help) = verdicts
            .find(|(cause, ..)| handler.verdict.cause == *cause)
            .filter(|_| mesh.is_none() || pod.mesh.value == mesh)?;
        let span = match *field {
            "" => handler.handler.kind_span(),
            field => handler.handler.field_span(field),
        };
        let sentence = text(pod, handler);
        let mut finding = rule.finding_on_handler(pod, handler, span, sentence);
        finding.help = Some((*help).to_owned());
        Some(finding)
    })
}

/// Returns a finding for every probe whose verdict has a cause that it targets a port of the proxy, with this help, and
/// for every declared port that the proxy uses.
pub(in crate::rules) fn proxy_ports(
    cx: &RuleContext<'_, '_>,
    rule: &Rule,
    (mesh, cause): (Mesh, Cause),
    help: &str,
) -> Vec<Finding> {
    let mut findings = cx.each_handler(|pod, handler| {
        if pod.mesh.value != Some(mesh) || handler.verdict.cause != cause {
            return None;
        }
        let port = handler.port?;
        let owner = port_owner(pod, port)?;
        let sentence = Sentence::verb(("targets", "target"), " ")
            .port(port, format!(", which belongs to the proxy ({owner})"));
        let span = handler.handler.field_span("port");
        let mut finding = rule.finding_on_handler(pod, handler, span, sentence);
        finding.help = Some(help.to_owned());
        Some(finding)
    });
    findings.extend(declared_proxy_ports(cx, rule, mesh));
    findings
}

/// Returns a finding for every declared port that the proxy uses.
pub(in crate::rules) fn declared_proxy_ports(
    cx: &RuleContext<'_, '_>,
    rule: &Rule,
    mesh: Mesh,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for pod in cx.pods().filter(|pod| is_to_be_injected(cx, pod, mesh)) {
        for container in pod.workload.template.containers_in(ContainerList::Main) {
            for port in container.ports() {
                findings.extend(declared_proxy_port(rule, pod, &container, &port));
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

fn declared_proxy_port(
    rule: &Rule,
    pod: &WorkloadPrediction<'_>,
    container: &Container<'_>,
    port: &ContainerPort<'_>,
) -> Option<Finding> {
    let number = port.number?;
    let message = format!(
        "container `{}` listens on port {number}, on which the proxy also listens ({})",
        container.name(),
        port_owner(pod, number)?
    );
    let entry = port.node.entry("containerPort")?;
    let mut finding = rule.finding_on_workload(&pod.workload, entry.value.span(), message);
    finding.container = Some(container.name().to_owned());
    finding.depend_on(&pod.dataplane);
    finding.help = Some("let the application listen on another port".to_owned());
    Some(finding)
}
