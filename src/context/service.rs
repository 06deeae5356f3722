//! What the Services of a workload say about its ports.

use std::ptr::from_ref;

use hashbrown::HashSet;

use crate::finding::Label;
use crate::kube::{LabelSelector, Object, ServicePort, Workload};
use crate::mesh::Fact;
use crate::mesh::istio::keys;
use crate::mesh::istio::protocol::Protocol;
use crate::yaml::NodeRef;

use super::Context;
use super::inventory::nearest;
use super::port_index::numeric_target;

/// No option speaks of the protocol of a port: the Services do.
pub const SETTLE: &str = "one appProtocol in all these Services";

impl<'t> Context<'t> {
    /// Returns the protocol that Istio takes the traffic of `port` for: that of the Service port that
    /// leads to it, else it is detected. Of several Services the oldest decides, which no manifest
    /// tells: where they differ the answer is an assumption, and the first by name is taken.
    ///
    /// Source: Istio 1.31, `pilot/pkg/networking/core/listener_inbound.go`.
    #[must_use]
    pub fn protocol(&self, workload: &Workload<'t>, port: i64) -> Fact<Protocol> {
        let mut found = self.protocols(workload, port).into_iter();
        let Some((_, first)) = found.next() else {
            return Fact::settled(
                Protocol::Auto,
                "the port is in no Service: its protocol is detected",
            );
        };
        let rivals: Vec<_> = found.map(|(_, fact)| fact).collect();
        if rivals.is_empty() {
            return first;
        }
        let said = "the oldest of several Services on one port decides its protocol";
        let age = Fact::assumed((), said, Some(SETTLE));
        let rests = |first: Fact<Protocol>, rival: &Fact<Protocol>| first.resting_on(rival);
        rivals.iter().fold(first, rests).resting_on(&age)
    }

    /// Returns the protocols that the Services give `port` of the workload, each with the name of the
    /// first Service that does: more than one where they differ.
    #[must_use]
    pub fn protocols(&self, workload: &Workload<'t>, port: i64) -> Vec<(&'t str, Fact<Protocol>)> {
        let mut found: Vec<(&'t str, Fact<Protocol>)> = Vec::new();
        for (service, node) in self.services_of(workload, port) {
            let fact = protocol_of(service, node);
            if self.oldest == Some((port, service.name())) {
                return vec![(service.name(), fact)];
            }
            if found.iter().all(|(_, other)| other.value != fact.value) {
                found.push((service.name(), fact));
            }
        }
        found
    }

    /// Returns the facts as they would be if this Service were the oldest of those that lead to
    /// `port`.
    #[must_use]
    pub fn with_oldest(&self, port: i64, service: &'t str) -> Self {
        Self {
            oldest: Some((port, service)),
            ..self.clone()
        }
    }

    /// Returns the first Service whose port leads to `port` of the workload, with that port of it.
    #[must_use]
    pub fn service_of(
        &self,
        workload: &Workload<'t>,
        port: i64,
    ) -> Option<(&Object<'t>, NodeRef<'t>)> {
        self.services_of(workload, port).into_iter().next()
    }

    /// Returns the nearest Services with a port that leads to `port` of the workload, by name, each
    /// with that port of it; the one that is supposed to be the oldest comes first.
    fn services_of(&self, workload: &Workload<'t>, port: i64) -> Vec<(&Object<'t>, NodeRef<'t>)> {
        let mut found = nearest(self.selecting_services(workload), workload.object.home());
        let is_older = |service: &Object<'t>| self.oldest == Some((port, service.name()));
        found.sort_by_key(|service| (!is_older(service), service.name()));
        let leading = found
            .into_iter()
            .filter_map(|service| Some((service, self.leading_port(service, workload, port)?)));
        leading.collect()
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
        nearest(self.selecting_services(workload), workload.object.home())
            .into_iter()
            .find_map(|service| {
                let node = self.leading_port(service, workload, port)?;
                let said = format!("Service `{}` leads clients to port {port}", service.name());
                let span = node.get("targetPort").or_else(|| node.get("port"))?.span();
                Some(service.label_at(span, said))
            })
    }

    /// Returns the first port of a Service that leads to `port` of the pods of `workload`.
    fn leading_port(
        &self,
        service: &Object<'t>,
        workload: &Workload<'t>,
        port: i64,
    ) -> Option<NodeRef<'t>> {
        self.inventory
            .ports
            .leading_to(service, port)
            .unwrap_or_else(|| {
                let mut ports = ServicePort::all_of(service).map(|port| port.node);
                ports.find(|node| target_port(*node, workload) == Some(port))
            })
    }

    /// Returns the ports of the Services that lead to the pods of `workload`, each with its
    /// Service and the port of the pod, where that is known.
    #[must_use]
    pub fn service_ports(
        &self,
        workload: &Workload<'t>,
    ) -> Vec<(&Object<'t>, ServicePort<'t>, Option<i64>)> {
        self.service_ports_among(workload, |_| true)
    }

    /// Returns the [`Context::service_ports`] of a workload without the Services that lead to the same ports of all
    /// their pods and that `listed` contains; it then contains these Services.
    #[must_use]
    pub fn unlisted_service_ports(
        &self,
        workload: &Workload<'t>,
        listed: &mut HashSet<usize>,
    ) -> Vec<(&Object<'t>, ServicePort<'t>, Option<i64>)> {
        self.service_ports_among(workload, |service| {
            let is_numeric = self.inventory.ports.is_numeric(service);
            !is_numeric || listed.insert(from_ref(service).addr())
        })
    }

    fn service_ports_among(
        &self,
        workload: &Workload<'t>,
        mut is_wanted: impl FnMut(&Object<'t>) -> bool,
    ) -> Vec<(&Object<'t>, ServicePort<'t>, Option<i64>)> {
        self.selecting_services(workload)
            .filter(|service| is_wanted(service))
            .flat_map(|service| ServicePort::all_of(service).map(move |port| (service, port)))
            .map(|(service, port)| (service, port, target_port(port.node, workload)))
            .collect()
    }

    /// Iterates over the Services that select the pods of `workload`.
    fn selecting_services<'s, 'w>(
        &'s self,
        workload: &'w Workload<'t>,
    ) -> impl Iterator<Item = &'s Object<'t>> + use<'s, 'w, 't> {
        let labels = workload.template.labels();
        let selecting = self.beside_selecting(&self.inventory.services, workload);
        selecting.filter(move |service| service_selector(service).matches(labels))
    }
}

/// Returns the labels that a Service selects pods by; without any it selects none.
pub(super) fn service_selector<'t>(service: &Object<'t>) -> LabelSelector<'t> {
    let spec = service.node.get("spec");
    LabelSelector::from_mapping(spec.and_then(|spec| spec.get("selector")))
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

/// Returns the port of the pods that a Service port sends TCP connections to; UDP and SCTP lead no
/// probe anywhere.
fn target_port(port: NodeRef<'_>, workload: &Workload<'_>) -> Option<i64> {
    if let Some(target) = numeric_target(port) {
        return target;
    }
    let name = port.get("targetPort")?.text()?;
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
