//! Facts from the Services of a workload about its ports.

use std::ptr::from_ref;

use hashbrown::HashSet;
use meshprobe_mesh::finding::Label;
use meshprobe_mesh::kube::{Object, ServicePort, Workload, integer};
use meshprobe_mesh::mesh::Fact;
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_mesh::mesh::istio::mtls::Protocol;
use meshprobe_yaml::NodeRef;

use super::inventory::service_selector;
use super::nearest::nearest;
use super::run_context::Context;

/// What settles the protocol of a port: only the Services, because no option sets it.
pub const SETTLE: &str = "one appProtocol in all these Services";

/// The Services of a workload.
#[derive(Clone, Copy, Debug)]
pub struct Services<'c, 't> {
    context: &'c Context<'t>,
    workload: &'c Workload<'t>,
}

impl<'t> Context<'t> {
    /// Returns the Services that select the pods of a workload.
    #[must_use]
    pub const fn services<'c>(&'c self, workload: &'c Workload<'t>) -> Services<'c, 't> {
        Services {
            context: self,
            workload,
        }
    }
}

impl<'c, 't> Services<'c, 't> {
    /// Returns the protocol that Istio uses for the traffic of `port`: that of the Service port that
    /// targets it, else Istio detects it. The oldest of several Services decides, and manifests do not
    /// state the age. If the Services differ, the first by name is assumed to be the oldest.
    ///
    /// Source: Istio 1.31, `pilot/pkg/networking/core/listener_inbound.go`.
    #[must_use]
    pub fn protocol(self, port: i64) -> Fact<Protocol> {
        let mut found = self.protocols(port).into_iter();
        let Some((_, first)) = found.next() else {
            return Fact::settled(
                Protocol::Auto,
                "no Service targets the port, so Istio detects its protocol",
            );
        };
        let others: Vec<_> = found.map(|(_, fact)| fact).collect();
        if others.is_empty() {
            return first;
        }
        let message = "the oldest of several Services decides the protocol of the port";
        let age = Fact::assumed((), message, Some(SETTLE));
        let rests = |first: Fact<Protocol>, rival: &Fact<Protocol>| first.depending_on(rival);
        others.iter().fold(first, rests).depending_on(&age)
    }

    /// Returns the different protocols that the Services set for `port` of the workload, each with the
    /// name of the first Service that sets it.
    #[must_use]
    pub fn protocols(self, port: i64) -> Vec<(&'t str, Fact<Protocol>)> {
        let mut found: Vec<(&'t str, Fact<Protocol>)> = Vec::new();
        for (service, node) in self.of_port(port) {
            let fact = protocol_of(service, node);
            if self.context.oldest == Some((port, service.name())) {
                return vec![(service.name(), fact)];
            }
            if found.iter().all(|(_, other)| other.value != fact.value) {
                found.push((service.name(), fact));
            }
        }
        found
    }

    /// Returns the first Service that targets `port` of the workload, with its port.
    #[must_use]
    pub fn first_of_port(self, port: i64) -> Option<(&'c Object<'t>, NodeRef<'t>)> {
        self.of_port(port).into_iter().next()
    }

    /// Returns the nearest Services that target `port` of the workload, each with its port. They are
    /// sorted by name, after the one that is assumed to be the oldest.
    fn of_port(self, port: i64) -> Vec<(&'c Object<'t>, NodeRef<'t>)> {
        let mut found = nearest(self.selecting(), self.workload.object.location_file());
        let is_older = |service: &Object<'t>| self.context.oldest == Some((port, service.name()));
        found.sort_by_key(|service| (!is_older(service), service.name()));
        found
            .into_iter()
            .filter_map(|service| Some((service, self.leading_port(service, port)?)))
            .collect()
    }

    /// Returns the place of the Service that `host` names (`name`, `name.namespace` and longer, or its
    /// address), if the sidecar of the pods of `workload` captures connections to it.
    #[must_use]
    pub fn behind_sidecar(self, host: &str, port: u16) -> Option<Label> {
        if !captures_outbound(self.workload, port) {
            return None;
        }
        let home = self.context.namespace_of(&self.workload.object).name;
        let mut parts = host.trim_end_matches('.').split('.');
        let (name, namespace) = (parts.next()?, parts.next().unwrap_or(home));
        let is_service = parts.next().is_none_or(|part| part == "svc");
        let address = |service: &Object<'t>| {
            let spec = service.node.get("spec");
            spec.and_then(|spec| spec.get("clusterIP"))
                .and_then(NodeRef::text)
        };
        let object = &self.workload.object;
        let environments = &self.context.inventory.environments;
        let is_deployed_there = environments.deployed_may_apply(object);
        let called = self.context.inventory.services.iter().filter(|service| {
            let is_in_reach = environments
                .may_apply(service.location_file(), object.location_file())
                && is_deployed_there(service);
            let by_name = is_service
                && service.name() == name
                && self.context.namespace_of(service).name == namespace;
            is_in_reach && (by_name || address(service) == Some(host))
        });
        let found = nearest(called, object.location_file());
        let service = found.first()?;
        let message = format!(
            "the sidecar captures connections to Service `{}`",
            service.name()
        );
        Some(service.label_at(service.name_span(), message))
    }

    /// Returns the place of the nearest Service port that targets `port` of the pods.
    #[must_use]
    pub fn exposing(self, port: i64) -> Option<Label> {
        nearest(self.selecting(), self.workload.object.location_file())
            .into_iter()
            .find_map(|service| {
                let node = self.leading_port(service, port)?;
                let message = format!("Service `{}` routes clients to port {port}", service.name());
                let span = node.get("targetPort").or_else(|| node.get("port"))?.span();
                Some(service.label_at(span, message))
            })
    }

    /// Returns the first port of a Service that targets `port` of the pods of `workload`.
    fn leading_port(self, service: &Object<'t>, port: i64) -> Option<NodeRef<'t>> {
        let mut ports = ServicePort::all_of(service).map(|port| port.node);
        ports.find(|node| target_port(*node, self.workload) == Some(port))
    }

    /// Returns the ports of the Services that select the pods of `workload`, each with its Service and
    /// the port of the pod, if that is known.
    #[must_use]
    pub fn ports(self) -> Vec<(&'c Object<'t>, ServicePort<'t>, Option<i64>)> {
        self.ports_among(|_| true)
    }

    /// Returns the [`Services::ports`] of a workload, without Services that `listed` contains.
    /// Adds the Services whose ports are the same for all their pods to `listed`.
    #[must_use]
    pub fn unlisted_ports(
        self,
        listed: &mut HashSet<usize>,
    ) -> Vec<(&'c Object<'t>, ServicePort<'t>, Option<i64>)> {
        self.ports_among(|service| {
            let mut ports = ServicePort::all_of(service);
            let is_numeric = ports.all(|port| numeric_target(port.node).is_some());
            !is_numeric || listed.insert(from_ref(service).addr())
        })
    }

    fn ports_among(
        self,
        mut is_wanted: impl FnMut(&Object<'t>) -> bool,
    ) -> Vec<(&'c Object<'t>, ServicePort<'t>, Option<i64>)> {
        self.selecting()
            .filter(|service| is_wanted(service))
            .flat_map(|service| ServicePort::all_of(service).map(move |port| (service, port)))
            .map(|(service, port)| (service, port, target_port(port.node, self.workload)))
            .collect()
    }

    /// Iterates over the Services that select the pods of `workload`.
    fn selecting(self) -> impl Iterator<Item = &'c Object<'t>> + use<'c, 't> {
        let labels = self.workload.template.labels();
        let selecting = self
            .context
            .namespace_of(&self.workload.object)
            .facts_selecting(&self.context.inventory.services, self.workload);
        selecting.filter(move |service| service_selector(service).matches(labels))
    }
}

/// Returns whether the sidecar captures connections of the pods to `port`. If annotations restrict the
/// capture by address, manifests alone do not decide it, and the result is `false`.
fn captures_outbound(workload: &Workload<'_>, port: u16) -> bool {
    let text = |key: &str| workload.template.annotation(key)?.value.text();
    let all = |key: &str| text(key).is_none_or(|list| list.trim() == "*");
    let excluded = text(keys::EXCLUDE_OUTBOUND_PORTS).is_some_and(|list| {
        list.split(',')
            .any(|entry| entry.trim().parse() == Ok(port))
    });
    !excluded
        && all(keys::INCLUDE_OUTBOUND_RANGES)
        && text(keys::EXCLUDE_OUTBOUND_RANGES).is_none()
        && text(keys::INTERCEPTION_MODE) != Some("NONE")
}

/// Returns the port of the pods that a Service port targets; `None` for UDP and SCTP, which probes do
/// not use.
fn target_port(port: NodeRef<'_>, workload: &Workload<'_>) -> Option<i64> {
    if let Some(target) = numeric_target(port) {
        return target;
    }
    let name = port.get("targetPort")?.text()?;
    let containers = workload.template.containers();
    containers
        .iter()
        .flat_map(meshprobe_mesh::kube::Container::ports)
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
    let message = format!(
        "Service `{}` sets the protocol of the port here",
        service.name()
    );
    Fact::known(protocol, service.label_at(node.span(), message))
}

/// Returns the target port of a Service port. The inner `None` means another protocol than TCP, which
/// probes do not use; the outer `None` means that the target is a port name.
fn numeric_target(port: NodeRef<'_>) -> Option<Option<i64>> {
    let transport = port.get("protocol").and_then(NodeRef::text);
    if matches!(transport, Some("UDP" | "SCTP")) {
        return Some(None);
    }
    match port.get("targetPort") {
        None => Some(port.get("port").and_then(integer)),
        Some(target) => integer(target).map(Some),
    }
}
