//! What the Services of a workload say about its ports.

use crate::kube::{LabelSelector, Object, Workload, integer};
use crate::mesh::Fact;
use crate::mesh::istio::protocol::Protocol;
use crate::yaml::NodeRef;

use super::Context;
use super::inventory::nearest;

impl<'t> Context<'t> {
    /// Returns the protocol that Istio takes the traffic of `port` for: that of the first Service
    /// port that leads to it, else it is detected.
    #[must_use]
    pub fn protocol(&self, workload: &Workload<'t>, port: i64) -> Fact<Protocol> {
        let services = self.inventory.services.iter();
        let selecting = services.filter(|service| self.selects(service, workload));
        let mut found = nearest(selecting, workload.object.home());
        found.sort_by_key(|service| service.name());
        for service in found {
            let ports = service.node.get("spec").and_then(|spec| spec.get("ports"));
            for node in ports.into_iter().flat_map(NodeRef::items) {
                if target_port(node, workload) == Some(port) {
                    return protocol_of(service, node);
                }
            }
        }
        Fact::settled(
            Protocol::Auto,
            "the port is in no Service: its protocol is detected",
        )
    }

    fn selects(&self, service: &Object<'t>, workload: &Workload<'t>) -> bool {
        let selector = service
            .node
            .get("spec")
            .and_then(|spec| spec.get("selector"));
        let selector = LabelSelector::from_mapping(selector);
        !selector.is_empty()
            && self.shares_namespace(service, &workload.object)
            && selector.matches(workload.template.labels())
    }
}

fn target_port(port: NodeRef<'_>, workload: &Workload<'_>) -> Option<i64> {
    let Some(target) = port.get("targetPort") else {
        return port.get("port").and_then(integer);
    };
    if let Some(number) = integer(target) {
        return Some(number);
    }
    let name = target.text()?;
    let containers = workload.template.containers();
    let mut ports = containers.iter().flat_map(crate::kube::Container::ports);
    ports
        .find(|port| port.name == Some(name))
        .and_then(|port| port.number)
}

fn protocol_of(service: &Object<'_>, port: NodeRef<'_>) -> Fact<Protocol> {
    let app_protocol = port.get("appProtocol");
    let name = port.get("name");
    let protocol = Protocol::of_service_port(
        app_protocol.and_then(NodeRef::text),
        name.and_then(NodeRef::text),
    );
    let node = app_protocol.or(name).unwrap_or(port);
    let said = format!(
        "Service `{}` names the protocol of the port here",
        service.name()
    );
    Fact::known(protocol, service.label_at(node.span(), said))
}
