//! What the Services of a workload say about its ports.

use crate::finding::Label;
use crate::kube::{LabelSelector, Object, ServicePort, Workload, integer};
use crate::mesh::Fact;
use crate::mesh::istio::keys;
use crate::mesh::istio::protocol::Protocol;
use crate::yaml::NodeRef;

use super::Context;
use super::inventory::nearest;

impl<'t> Context<'t> {
    /// Returns the protocol that Istio takes the traffic of `port` for: that of the first Service
    /// port that leads to it, else it is detected.
    #[must_use]
    pub fn protocol(&self, workload: &Workload<'t>, port: i64) -> Fact<Protocol> {
        match self.service_of(workload, port) {
            Some((service, node)) => protocol_of(service, node),
            None => Fact::settled(
                Protocol::Auto,
                "the port is in no Service: its protocol is detected",
            ),
        }
    }

    /// Returns the first Service whose port leads to `port` of the workload, with that port of it.
    #[must_use]
    pub fn service_of(
        &self,
        workload: &Workload<'t>,
        port: i64,
    ) -> Option<(&Object<'t>, NodeRef<'t>)> {
        let services = self.inventory.services.iter();
        let selecting = services.filter(|service| self.selects(service, workload));
        let mut found = nearest(selecting, workload.object.home());
        found.sort_by_key(|service| service.name());
        found.into_iter().find_map(|service| {
            let mut ports = ServicePort::all_of(service).map(|port| port.node);
            let leads = ports.find(|node| target_port(*node, workload) == Some(port))?;
            Some((service, leads))
        })
    }

    /// Returns the place of the Service that a host names for the pods of `workload`, where their
    /// sidecar takes connections to it: `name`, `name.namespace` and longer, or its address.
    #[must_use]
    pub fn service_behind_sidecar(
        &self,
        workload: &Workload<'t>,
        host: &str,
        port: u16,
    ) -> Option<Label> {
        if !captures_outbound(workload, port) {
            return None;
        }
        let (home, _) = self.namespace_of(&workload.object);
        let mut parts = host.trim_end_matches('.').split('.');
        let (name, namespace) = (parts.next()?, parts.next().unwrap_or(home));
        let is_service = parts.next().is_none_or(|part| part == "svc");
        let address = |service: &Object<'t>| {
            let spec = service.node.get("spec");
            spec.and_then(|spec| spec.get("clusterIP"))
                .and_then(NodeRef::text)
        };
        let called = self.inventory.services.iter().filter(|service| {
            let by_name =
                is_service && service.name() == name && self.namespace_of(service).0 == namespace;
            by_name || address(service) == Some(host)
        });
        let found = nearest(called, workload.object.home());
        let service = found.first()?;
        let said = format!(
            "the sidecar takes connections to Service `{}`",
            service.name()
        );
        Some(service.label_at(service.name_span(), said))
    }

    /// Returns the Service port that leads to `port` of the pods, the nearest first.
    #[must_use]
    pub fn exposed_by(&self, workload: &Workload<'t>, port: i64) -> Option<Label> {
        let services = self.inventory.services.iter();
        let selecting = services.filter(|service| self.selects(service, workload));
        nearest(selecting, workload.object.home())
            .into_iter()
            .find_map(|service| {
                let ports = service.node.get("spec").and_then(|spec| spec.get("ports"));
                let mut ports = ports.into_iter().flat_map(NodeRef::items);
                let node = ports.find(|node| target_port(*node, workload) == Some(port))?;
                let said = format!("Service `{}` leads clients to port {port}", service.name());
                let span = node.get("targetPort").or_else(|| node.get("port"))?.span();
                Some(service.label_at(span, said))
            })
    }

    /// Returns the ports of the Services that lead to the pods of `workload`, each with its
    /// Service and the port of the pod, where that is known.
    #[must_use]
    pub fn service_ports(
        &self,
        workload: &Workload<'t>,
    ) -> Vec<(&Object<'t>, ServicePort<'t>, Option<i64>)> {
        let services = self.inventory.services.iter();
        services
            .filter(|service| self.selects(service, workload))
            .flat_map(|service| ServicePort::all_of(service).map(move |port| (service, port)))
            .map(|(service, port)| (service, port, target_port(port.node, workload)))
            .collect()
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

/// Tells whether connections of the pods to `port` go to their sidecar. Where annotations restrict
/// it by addresses, nobody knows from manifests alone, and the answer is no.
fn captures_outbound(workload: &Workload<'_>, port: u16) -> bool {
    let text = |key: &str| workload.template.annotation(key)?.value.text();
    let all = |key: &str| text(key).is_none_or(|list| list.trim() == "*");
    let excluded = text(keys::EXCLUDE_OUTBOUND_PORTS).is_some_and(|list| {
        let mut ports = list.split(',');
        ports.any(|entry| entry.trim().parse() == Ok(port))
    });
    !excluded
        && all(keys::INCLUDE_OUTBOUND_RANGES)
        && text(keys::EXCLUDE_OUTBOUND_RANGES).is_none()
        && text(keys::INTERCEPTION_MODE) != Some("NONE")
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
