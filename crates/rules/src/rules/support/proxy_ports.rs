//! Findings about containers that declare a port of the proxy that a mesh other than Istio will add.

use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::kube::{Container, ContainerList, ContainerPort};
use meshprobe_mesh::mesh::Mesh;
use meshprobe_predict::context::Dataplane;
use meshprobe_predict::predict::{WorkloadPrediction, port_owner};

use crate::rules::{Rule, RuleContext};

/// Returns a finding for every declared port that the proxy uses.
pub(in crate::rules) fn findings(
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
                    purpose.and_then(|purpose| report(rule, pod, &container, &port, purpose)),
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

fn report(
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
