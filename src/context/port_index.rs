//! Indexes policies and Services by port, since each probe looks up one of many ports.

use std::ptr::from_ref;

use hashbrown::HashMap;

use crate::kube::{Object, PeerAuthentication, PortMode, ServicePort, integer};
use crate::yaml::NodeRef;

/// The address of a tree, and the number of a node in it.
type NodeId = (usize, u32);

/// The ports of policies and Services.
#[derive(Debug, Default)]
pub(super) struct PortIndex<'t> {
    modes: HashMap<NodeId, HashMap<i64, PortMode<'t>>>,
    /// The ports of Services whose target ports are all numbers, by target port.
    targets: HashMap<NodeId, HashMap<i64, NodeRef<'t>>>,
}

impl<'t> PortIndex<'t> {
    /// Indexes the ports of `PeerAuthentication`s and of Services.
    pub(super) fn of(policies: &[Object<'t>], services: &[Object<'t>]) -> Self {
        let mut index = Self::default();
        for policy in policies {
            let mut modes = HashMap::new();
            for mode in PeerAuthentication::of(policy).ports() {
                if let Some(port) = mode.port {
                    modes.entry(port).or_insert(mode);
                }
            }
            if !modes.is_empty() {
                index.modes.insert(id(policy), modes);
            }
        }
        for service in services {
            if let Some(targets) = targets(service) {
                index.targets.insert(id(service), targets);
            }
        }
        index
    }

    /// Returns the mode that a policy sets for a port.
    pub(super) fn mode(&self, policy: &Object<'t>, port: i64) -> Option<&PortMode<'t>> {
        self.modes.get(&id(policy))?.get(&port)
    }

    /// Returns the first port of a Service whose target is `port`. The outer `None` means that a
    /// target is a port name, so the pods decide.
    pub(super) fn targeting(&self, service: &Object<'t>, port: i64) -> Option<Option<NodeRef<'t>>> {
        Some(self.targets.get(&id(service))?.get(&port).copied())
    }
}

impl PortIndex<'_> {
    /// Returns whether all target ports of a Service are numbers, so that they are equal for all pods.
    pub(super) fn is_numeric(&self, service: &Object<'_>) -> bool {
        self.targets.contains_key(&id(service))
    }
}

fn id(object: &Object<'_>) -> NodeId {
    let tree = from_ref(object.node.tree()).addr();
    (tree, object.node.id())
}

/// Returns the ports of a Service by target port; `None` if a target port is a name.
fn targets<'t>(service: &Object<'t>) -> Option<HashMap<i64, NodeRef<'t>>> {
    let mut targets = HashMap::new();
    for ServicePort { node, .. } in ServicePort::all_of(service) {
        if let Some(number) = numeric_target(node)? {
            targets.entry(number).or_insert(node);
        }
    }
    Some(targets)
}

/// Returns the target port of a Service port. The inner `None` means another protocol than TCP, which
/// probes do not use; the outer `None` means that the target is a port name.
pub(super) fn numeric_target(port: NodeRef<'_>) -> Option<Option<i64>> {
    let transport = port.get("protocol").and_then(NodeRef::text);
    if matches!(transport, Some("UDP" | "SCTP")) {
        return Some(None);
    }
    match port.get("targetPort") {
        None => Some(port.get("port").and_then(integer)),
        Some(target) => integer(target).map(Some),
    }
}
