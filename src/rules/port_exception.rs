//! Exceptions of `PeerAuthentication`s for ports that the tree does not show on the pods.

use std::cell::OnceCell;
use std::ptr::from_ref;
use std::rc::Rc;

use hashbrown::{HashMap, HashSet};

use crate::context::{Context, Dataplane, Reach};
use crate::kube::{Object, PeerAuthentication, ServicePort, integer, selects_workload};
use crate::predict::WorkloadPrediction;
use crate::source::placeholder;
use crate::yaml::{Entry, NodeRef};

use super::Scene;
use super::reached_pods::ReachedPodsCache;

/// An entry of `portLevelMtls` whose port no selected pod is known to listen on.
pub(super) struct Exception<'s, 't> {
    /// The policy.
    pub(super) policy: &'s Object<'t>,
    /// The entry.
    pub(super) entry: Entry<'t>,
    /// The port it names.
    pub(super) port: i64,
    /// The ports that the policy names.
    pub(super) siblings: Rc<HashSet<i64>>,
    /// The pods that the policy selects and that are in the mesh.
    pub(super) pods: Rc<[&'s WorkloadPrediction<'t>]>,
    /// The numbers in the texts of the pods, collected where they are asked for.
    numbers: Rc<OnceCell<HashSet<&'t str>>>,
    /// Ports of Services with this number, and the ports of the pods that they lead to.
    pub(super) service_ports: Vec<(&'s Object<'t>, ServicePort<'t>, i64)>,
}

/// Returns the exceptions that meet no port of the pods.
pub(super) fn unmet<'s, 't>(scene: &Scene<'s, 't>) -> Vec<Exception<'s, 't>> {
    let context = scene.context;
    let mut unmet = Vec::new();
    let mut reached_pods = ReachedPodsCache::default();
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
        let reached = reached_pods.of(scene, policy, Reach::Workloads);
        let pods: Rc<[_]> = reached.pods.iter().copied().filter(in_mesh).collect();
        if pods.is_empty() {
            continue;
        }
        let siblings: Rc<HashSet<i64>> = Rc::new(view.ports().filter_map(|one| one.port).collect());
        let numbers = Rc::new(OnceCell::new());
        let lines = service_lines(scene, &pods);
        let known = listening(scene, &pods, &lines);
        for one in view.ports() {
            let Some(port) = one.port else { continue };
            let said = one.mode.and_then(|mode| mode.value.text());
            if said.is_some_and(placeholder::contains) || known.contains(&port) {
                continue;
            }
            let leading = lines.get(&Some(port)).into_iter().flatten();
            unmet.push(Exception {
                policy,
                entry: one.entry,
                port,
                siblings: Rc::clone(&siblings),
                service_ports: leading
                    .filter_map(|(service, line, target)| Some((*service, *line, (*target)?)))
                    .collect(),
                pods: Rc::clone(&pods),
                numbers: Rc::clone(&numbers),
            });
        }
    }
    unmet
}

/// Ports of Services, each with its Service and the port of the pods, by their numbers.
type ServiceLines<'s, 't> =
    HashMap<Option<i64>, Vec<(&'s Object<'t>, ServicePort<'t>, Option<i64>)>>;

/// Collects the ports of the Services that lead to the pods, each with every port that it leads to.
fn service_lines<'s, 't>(
    scene: &Scene<'s, 't>,
    pods: &[&'s WorkloadPrediction<'t>],
) -> ServiceLines<'s, 't> {
    let (mut seen, mut listed) = (HashSet::new(), HashSet::new());
    let mut lines = ServiceLines::new();
    for pod in pods {
        let context: &'s Context<'t> = scene.context;
        for (service, line, target) in context.unlisted_service_ports(&pod.workload, &mut listed) {
            let place = (from_ref(service).addr(), line.node.id(), target);
            if seen.insert(place) {
                let known = lines.entry(line.port).or_default();
                known.push((service, line, target));
            }
        }
    }
    lines
}

/// Collects the ports that something says one of the pods listens on.
fn listening<'t>(
    scene: &Scene<'_, 't>,
    pods: &[&WorkloadPrediction<'t>],
    lines: &ServiceLines<'_, 't>,
) -> HashSet<i64> {
    let context = scene.context;
    let mut known = HashSet::new();
    for pod in pods {
        let containers = pod.workload.template.containers();
        let declared = containers.iter().flat_map(|container| container.ports());
        known.extend(declared.filter_map(|one| one.number));
        known.extend(pod.handlers.iter().filter_map(|one| one.port));
        known.extend([pod.status_port.value, pod.agent_port.value]);
        let sidecars = context
            .beside(&context.inventory.mesh_signs, &pod.workload.object)
            .filter(|one| selects_workload(one, &pod.workload))
            .filter_map(|one| one.node.get("spec")?.get("ingress"))
            .flat_map(NodeRef::items);
        let numbers = sidecars.filter_map(|one| one.get("port")?.get("number").and_then(integer));
        known.extend(numbers);
    }
    // A port name that is declared nowhere may stand for any port.
    let served = lines.values().flatten();
    known.extend(served.filter_map(|(_, line, target)| target.or(line.port)));
    known
}

impl Exception<'_, '_> {
    /// Tells whether the number stands anywhere in the pods: in a command line, an env variable,
    /// an annotation.
    pub(super) fn is_mentioned(&self) -> bool {
        let collect = || {
            let texts = self
                .pods
                .iter()
                .map(|pod| pod.workload.template.node.source());
            let words = texts.flat_map(|text| text.split(|c: char| !c.is_ascii_digit()));
            words.filter(|word| !word.is_empty()).collect()
        };
        let numbers: &HashSet<&str> = self.numbers.get_or_init(collect);
        numbers.contains(self.port.to_string().as_str())
    }
}
