//! Port exceptions of `PeerAuthentication`s for ports that no selected pod listens on as far as the tree shows.

use std::cell::OnceCell;
use std::ptr::from_ref;
use std::rc::Rc;

use hashbrown::{HashMap, HashSet};
use meshprobe_mesh::kube::{Object, PeerAuthentication, ServicePort, integer, selects_workload};
use meshprobe_predict::context::{Context, Dataplane, PolicyScope};
use meshprobe_predict::predict::WorkloadPrediction;
use meshprobe_tree::source::placeholder;
use meshprobe_yaml::{Entry, NodeRef};

use crate::rules::RuleContext;
use crate::rules::support::policy_pods::PolicyPodsCache;

/// An entry of `portLevelMtls` for a port that no selected pod is known to listen on.
pub(in crate::rules) struct Exception<'s, 't> {
    /// The policy.
    pub(in crate::rules) policy: &'s Object<'t>,
    /// The entry.
    pub(in crate::rules) entry: Entry<'t>,
    /// The port of the entry.
    pub(in crate::rules) port: i64,
    /// All ports in `portLevelMtls` of the policy.
    pub(in crate::rules) siblings: Rc<HashSet<i64>>,
    /// The pods that the policy selects and that are in the mesh.
    pub(in crate::rules) pods: Rc<[&'s WorkloadPrediction<'t>]>,
    /// The numbers in the manifests of the pods, collected on first use.
    numbers: Rc<OnceCell<HashSet<&'t str>>>,
    /// The Service ports with this number, each with its Service and its target port.
    pub(in crate::rules) service_ports: Vec<(&'s Object<'t>, ServicePort<'t>, i64)>,
}

/// Returns the exceptions for ports that no selected pod is known to listen on.
pub(in crate::rules) fn unmet<'s, 't>(cx: &RuleContext<'s, 't>) -> Vec<Exception<'s, 't>> {
    let context = cx.context;
    let mut unmet = Vec::new();
    let mut policy_pods = PolicyPodsCache::default();
    for policy in &context.inventory.peer_authentications {
        let view = PeerAuthentication::of(policy);
        if view.ports().next().is_none()
            || context.istio_policy(policy).scope() != PolicyScope::Workloads
        {
            continue;
        }
        let in_mesh = |pod: &&WorkloadPrediction<'_>| {
            matches!(
                pod.dataplane.value,
                Dataplane::Sidecar | Dataplane::Ambient | Dataplane::Uncaptured
            )
        };
        let reached = policy_pods.of(cx, policy, PolicyScope::Workloads);
        let pods: Rc<[_]> = reached.pods.iter().copied().filter(in_mesh).collect();
        if pods.is_empty() {
            continue;
        }
        let siblings: Rc<HashSet<i64>> =
            Rc::new(view.ports().filter_map(|entry| entry.port).collect());
        let numbers = Rc::new(OnceCell::new());
        let by_number = service_ports(cx, &pods);
        let known = known_ports(cx, &pods, &by_number);
        for exception in view.ports() {
            let Some(port) = exception.port else { continue };
            let mode = exception.mode.and_then(|mode| mode.value.text());
            if mode.is_some_and(placeholder::contains) || known.contains(&port) {
                continue;
            }
            let service_ports = by_number.get(&Some(port)).into_iter().flatten();
            unmet.push(Exception {
                policy,
                entry: exception.entry,
                port,
                siblings: Rc::clone(&siblings),
                service_ports: service_ports
                    .filter_map(|(service, port, target)| Some((*service, *port, (*target)?)))
                    .collect(),
                pods: Rc::clone(&pods),
                numbers: Rc::clone(&numbers),
            });
        }
    }
    unmet
}

/// Service ports by their numbers, each with its Service and its target port.
type ServicePorts<'s, 't> =
    HashMap<Option<i64>, Vec<(&'s Object<'t>, ServicePort<'t>, Option<i64>)>>;

/// Collects the Service ports that target the pods; a port occurs once for each of its target ports.
fn service_ports<'s, 't>(
    cx: &RuleContext<'s, 't>,
    pods: &[&'s WorkloadPrediction<'t>],
) -> ServicePorts<'s, 't> {
    let (mut seen, mut listed) = (HashSet::new(), HashSet::new());
    let mut ports = ServicePorts::new();
    for pod in pods {
        let context: &'s Context<'t> = cx.context;
        for (service, port, target) in context.services(&pod.workload).unlisted_ports(&mut listed) {
            let key = (from_ref(service).addr(), port.node.id(), target);
            if seen.insert(key) {
                let known = ports.entry(port.port).or_default();
                known.push((service, port, target));
            }
        }
    }
    ports
}

/// Collects the ports that one of the pods listens on according to its containers, handlers, Sidecars and
/// Services.
fn known_ports<'t>(
    cx: &RuleContext<'_, 't>,
    pods: &[&WorkloadPrediction<'t>],
    service_ports: &ServicePorts<'_, 't>,
) -> HashSet<i64> {
    let context = cx.context;
    let mut known = HashSet::new();
    for pod in pods {
        let containers = pod.workload.template.containers();
        let declared = containers.iter().flat_map(|container| container.ports());
        known.extend(declared.filter_map(|port| port.number));
        known.extend(pod.handlers.iter().filter_map(|handler| handler.port));
        known.extend([pod.status_port.value, pod.agent_port.value]);
        let listeners = context
            .namespace_of(&pod.workload.object)
            .facts(&context.inventory.sidecar_resources)
            .filter(|sidecar| selects_workload(sidecar, &pod.workload))
            .filter_map(|sidecar| sidecar.node.get("spec")?.get("ingress"))
            .flat_map(NodeRef::items);
        let numbers =
            listeners.filter_map(|listener| listener.get("port")?.get("number").and_then(integer));
        known.extend(numbers);
    }
    // A target port whose name no container declares may be any port, so the number of the Service port counts.
    let service_ports = service_ports.values().flatten();
    known.extend(service_ports.filter_map(|(_, port, target)| target.or(port.port)));
    known
}

impl Exception<'_, '_> {
    /// Returns whether the number occurs anywhere in the manifests of the pods, such as in a command line, an
    /// environment variable or an annotation.
    pub(in crate::rules) fn is_mentioned(&self) -> bool {
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
