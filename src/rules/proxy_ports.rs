//! Containers that declare a port of the proxy which a mesh beside Istio is going to add.

use crate::context::Dataplane;
use crate::finding::Finding;
use crate::kube::{Container, ContainerList, ContainerPort};
use crate::mesh::Mesh;
use crate::predict::WorkloadPrediction;

use super::{Rule, Scene, scene};

/// Returns a finding for every declared port of which `owner` says what the proxy uses it for.
pub(super) fn declared(
    scene: &Scene<'_, '_>,
    rule: &Rule,
    mesh: Mesh,
    owner: impl Fn(&WorkloadPrediction<'_>, i64) -> Option<&'static str>,
) -> Vec<Finding> {
    let mut found = Vec::new();
    for pod in scene
        .pods()
        .filter(|pod| is_to_be_injected(scene, pod, mesh))
    {
        for container in pod.workload.template.containers_in(ContainerList::Main) {
            for port in container.ports() {
                let use_ = port.number.and_then(|number| owner(pod, number));
                found.extend(use_.and_then(|use_| report(rule, pod, &container, &port, use_)));
            }
        }
    }
    found
}

/// An injected pod declares the ports of the proxy with good reason.
fn is_to_be_injected(scene: &Scene<'_, '_>, pod: &WorkloadPrediction<'_>, mesh: Mesh) -> bool {
    pod.mesh.value == Some(mesh)
        && pod.dataplane.value == Dataplane::Other
        && !scene.context.brings_proxy(&pod.workload)
}

fn report(
    rule: &Rule,
    pod: &WorkloadPrediction<'_>,
    container: &Container<'_>,
    port: &ContainerPort<'_>,
    use_: &str,
) -> Option<Finding> {
    let message = format!(
        "container `{}` listens on port {}, where the proxy listens too ({use_})",
        container.name(),
        port.number?
    );
    let entry = port.node.entry("containerPort")?;
    let mut finding = scene::about_workload(rule, &pod.workload, entry.value.span(), message);
    finding.container = Some(container.name().to_owned());
    scene::rest_on_fact(&mut finding, &pod.dataplane);
    finding.help = Some("let the application listen on another port".to_owned());
    Some(finding)
}
