//! What policies and Services say of single ports, by the port: each probe asks for one of many.

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
    /// The ports of Services that lead to numbers of ports, and to no name of one.
    targets: HashMap<NodeId, HashMap<i64, NodeRef<'t>>>,
}

impl<'t> PortIndex<'t> {
    /// Collects the ports of `PeerAuthentication`s and of Services.
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

    /// Returns what a policy says of a port.
    pub(super) fn mode(&self, policy: &Object<'t>, port: i64) -> Option<&PortMode<'t>> {
        self.modes.get(&id(policy))?.get(&port)
    }

    /// Returns the first port of a Service that leads to a port of its pods; the outer `None` where that depends on
    /// the names of their ports.
    pub(super) fn leading_to(
        &self,
        service: &Object<'t>,
        port: i64,
    ) -> Option<Option<NodeRef<'t>>> {
        Some(self.targets.get(&id(service))?.get(&port).copied())
    }
}

impl PortIndex<'_> {
    /// Returns whether a Service leads to the same ports of all its pods.
    pub(super) fn is_numeric(&self, service: &Object<'_>) -> bool {
        self.targets.contains_key(&id(service))
    }
}

fn id(object: &Object<'_>) -> NodeId {
    let tree = from_ref(object.node.tree()).addr();
    (tree, object.node.id())
}

/// Returns the ports of a Service by the number that they lead to; `None` where one leads to a name.
fn targets<'t>(service: &Object<'t>) -> Option<HashMap<i64, NodeRef<'t>>> {
    let mut targets = HashMap::new();
    for ServicePort { node, .. } in ServicePort::all_of(service) {
        if let Some(number) = numeric_target(node)? {
            targets.entry(number).or_insert(node);
        }
    }
    Some(targets)
}

/// Returns the number of the port that a Service port sends TCP connections to, `None` in it for other transports,
/// which lead no probe anywhere; the outer `None` where a name is written.
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
