//! Exceptions of `PeerAuthentication`s for ports that the tree does not show on the pods.

use crate::context::{Dataplane, Reach};
use crate::kube::{Object, PeerAuthentication, ServicePort, integer, selects_workload};
use crate::predict::WorkloadPrediction;
use crate::source::placeholder;
use crate::yaml::{Entry, NodeRef};

use super::Scene;

/// An entry of `portLevelMtls` whose port no selected pod is known to listen on.
pub(super) struct Exception<'s, 't> {
    /// The policy.
    pub(super) policy: &'s Object<'t>,
    /// The entry.
    pub(super) entry: Entry<'t>,
    /// The port it names.
    pub(super) port: i64,
    /// The other ports that the policy names.
    pub(super) siblings: Vec<i64>,
    /// The pods that the policy selects and that are in the mesh.
    pub(super) pods: Vec<&'s WorkloadPrediction<'t>>,
    /// Ports of Services with this number, and the ports of the pods that they lead to.
    pub(super) service_ports: Vec<(&'s Object<'t>, ServicePort<'t>, i64)>,
}

/// Returns the exceptions that meet no port of the pods.
pub(super) fn unmet<'s, 't>(scene: &Scene<'s, 't>) -> Vec<Exception<'s, 't>> {
    let context = scene.context;
    let mut unmet = Vec::new();
    for policy in &context.inventory.peer_authentications {
        let view = PeerAuthentication::of(policy);
        if view.ports().next().is_none() || context.reach(policy) != Reach::Workloads {
            continue;
        }
        let in_mesh = |pod: &&WorkloadPrediction<'_>| {
            matches!(
                pod.dataplane.value,
                Dataplane::Sidecar | Dataplane::Ambient | Dataplane::Uncaptured
            )
        };
        let pods = scene.reached_by(policy, Reach::Workloads).into_iter();
        let pods: Vec<_> = pods.filter(in_mesh).collect();
        if pods.is_empty() {
            continue;
        }
        let ports: Vec<i64> = view.ports().filter_map(|one| one.port).collect();
        for one in view.ports() {
            let Some(port) = one.port else { continue };
            let said = one.mode.and_then(|mode| mode.value.text());
            if said.is_some_and(placeholder::contains)
                || pods.iter().any(|pod| listens(scene, pod, port))
            {
                continue;
            }
            unmet.push(Exception {
                policy,
                entry: one.entry,
                port,
                siblings: ports.clone(),
                service_ports: leading(scene, &pods, port),
                pods: pods.clone(),
            });
        }
    }
    unmet
}

/// Tells whether something says that the pods listen on a port.
fn listens<'t>(scene: &Scene<'_, 't>, pod: &WorkloadPrediction<'t>, port: i64) -> bool {
    let containers = pod.workload.template.containers();
    let declared = containers
        .iter()
        .flat_map(|container| container.ports())
        .any(|one| one.number == Some(port));
    let probed = pod.handlers.iter().any(|one| one.port == Some(port));
    let agent = [pod.status_port.value, pod.agent_port.value].contains(&port);
    // A port name that is declared nowhere may stand for any port.
    let served = || {
        let services = scene.context.service_ports(&pod.workload);
        services.iter().any(|(_, line, target)| {
            *target == Some(port) || target.is_none() && line.port == Some(port)
        })
    };
    let sidecars = || {
        let context = scene.context;
        context
            .beside(&context.inventory.mesh_signs, &pod.workload.object)
            .filter(|one| selects_workload(one, &pod.workload))
            .filter_map(|one| one.node.get("spec")?.get("ingress"))
            .flat_map(NodeRef::items)
            .filter_map(|listener| listener.get("port")?.get("number").and_then(integer))
            .any(|number| number == port)
    };
    declared || probed || agent || served() || sidecars()
}

/// The ports of Services with this number that lead to another one.
fn leading<'s, 't>(
    scene: &Scene<'s, 't>,
    pods: &[&'s WorkloadPrediction<'t>],
    port: i64,
) -> Vec<(&'s Object<'t>, ServicePort<'t>, i64)> {
    let lines = pods
        .iter()
        .flat_map(|pod| scene.context.service_ports(&pod.workload));
    lines
        .filter(|(_, line, _)| line.port == Some(port))
        .filter_map(|(service, line, target)| Some((service, line, target?)))
        .collect()
}

impl Exception<'_, '_> {
    /// Tells whether the number stands anywhere in the pods: in a command line, an env variable,
    /// an annotation.
    pub(super) fn is_mentioned(&self) -> bool {
        let number = self.port.to_string();
        self.pods.iter().any(|pod| {
            let text = pod.workload.template.node.source();
            text.split(|c: char| !c.is_ascii_digit())
                .any(|word| word == number)
        })
    }
}
