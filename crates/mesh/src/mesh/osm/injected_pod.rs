//! How OSM treats the probes of a pod that it injects.
//!
//! Handlers that OSM does not change.
//!
//! The request of a handler.
//!
//! The ways in which Open Service Mesh breaks a handler.

use super::faults;
use super::injection::has_container;
use super::keys::{
    EXCLUDED_PORTS, HEALTHCHECK_CONTAINER, HEALTHCHECK_PATH, HEALTHCHECK_PORT, PORTS,
    TCP_PORT_HEADER, is_own_path, listener_port, probe_kind,
};
use super::probes::{Era, Record, Transport, cluster_name, kept, probe_path};
use crate::finding::Certainty;
use crate::kube::{Probe, ProbeHandler};
use crate::mesh::fact::Reason;
use crate::mesh::fault::ProbeFault;
use crate::mesh::model;
use crate::mesh::model::{HandlerRef, PodInput, ProbeDestination, ProbeTreatment, Target, port_of};
use crate::mesh::shared_faults;

/// A pod that the webhook injects.
pub(super) struct InjectedPod<'a, 't> {
    pub(super) input: &'a PodInput<'a, 't>,
    pub(super) era: Era,
    pub(super) records: &'a [Record],
}

impl InjectedPod<'_, '_> {
    pub(super) fn treatments(&self, index: usize, handler: &HandlerRef<'_>) -> ProbeTreatment {
        let port = port_of(handler);
        let Some((action, number)) = network_action(handler) else {
            return ProbeTreatment::unchanged(port, ProbeDestination::Nothing);
        };
        if handler.0.is_native_sidecar() {
            return ProbeTreatment::unchanged(port, ProbeDestination::Fault(&faults::NEVER_STARTS));
        }
        let Some(record) = self.records.iter().find(|record| record.index == index) else {
            let mut treatment =
                ProbeTreatment::unchanged(port, unchanged(self.input, &handler.1, action, number));
            if treatment.destination == ProbeDestination::Direct {
                treatment.because.extend(exclusion(self.input, number));
            }
            return treatment;
        };
        let mut treatment =
            ProbeTreatment::unchanged(port, self.destination(record, action, number));
        treatment.target = self.target(record, action);
        treatment.by_release = self.is_by_release(record, treatment.destination);
        let taken = [&faults::LISTENER_TAKEN, &faults::HELPER_TAKEN]
            .map(ProbeDestination::Fault)
            .contains(&treatment.destination);
        if !taken {
            treatment.explanation = self.explanation(record);
        }
        if let ProbeDestination::Fault(fault) = treatment.destination {
            treatment.because = self.rival(record, fault);
        }
        if treatment.destination == ProbeDestination::Helper && points_at_proxy(action, number) {
            let message = "the proxy forwards the header to the helper of the manifest";
            treatment.because.push(Reason::without_place(message, None));
            treatment.limit_certainty(Certainty::Assumed);
        }
        treatment
    }

    fn target(&self, record: &Record, action: &ProbeHandler) -> Option<Target> {
        let port = listener_port(record.slot)?;
        let target = |path: String, port: i64, scheme: &'static str| Target {
            path,
            port,
            scheme,
            headers: None,
            drops_origin: false,
        };
        match record.transport {
            Transport::Http => {
                let path = probe_path(self.era, record.slot, &record.container);
                Some(target(path, port, "HTTP"))
            }
            Transport::Tls if self.era == Era::HttpOnly => {
                let path = probe_path(self.era, record.slot, &record.container);
                Some(target(path, port, "HTTPS"))
            }
            Transport::Tls => {
                let scheme = match action {
                    ProbeHandler::HttpGet(http) if http.scheme == "HTTPS" => "HTTPS",
                    _ => "HTTP",
                };
                Some(target(record.path.clone(), port, scheme))
            }
            Transport::Tcp if self.era < Era::PerKind => None,
            Transport::Tcp => Some(Target {
                headers: Some(vec![(TCP_PORT_HEADER.to_owned(), record.port.to_string())]),
                ..target(HEALTHCHECK_PATH.to_owned(), HEALTHCHECK_PORT, "HTTP")
            }),
        }
    }

    fn destination(&self, record: &Record, action: &ProbeHandler, port: i64) -> ProbeDestination {
        if points_at_proxy(action, port) {
            // The helper of the manifest answers through the proxy, which restores the path and forwards the header.
            let headers = match action {
                ProbeHandler::HttpGet(http) => http.headers.as_slice(),
                _ => &[],
            };
            let has_port = port == HEALTHCHECK_PORT && headers.iter().any(names_port);
            return match has_port && has_container(self.input.workload, HEALTHCHECK_CONTAINER) {
                true => ProbeDestination::Helper,
                false => ProbeDestination::Fault(&faults::TARGETS_ITSELF),
            };
        }
        if PORTS.iter().any(|(own, _)| *own == port) {
            return ProbeDestination::Fault(&shared_faults::PORT_OF_PROXY);
        }
        match record.transport {
            Transport::Tcp if self.era < Era::PerKind => return ProbeDestination::Accepted,
            Transport::Tls if self.era == Era::HttpOnly => {
                return ProbeDestination::Fault(&shared_faults::HTTPS_AT_PLAIN_LISTENER);
            }
            _ => {}
        }
        // The kubelet targets another host, whatever the proxy of this pod does.
        if action.host().is_some() && record.transport != Transport::Tcp {
            return ProbeDestination::Fault(&shared_faults::HOST_KEPT);
        }
        if let Some(fault) = self.collision(record) {
            return ProbeDestination::Fault(fault);
        }
        if action.host().is_some() {
            return ProbeDestination::Fault(&faults::HOST_LOST);
        }
        match record.transport {
            Transport::Tcp => ProbeDestination::Helper,
            _ => ProbeDestination::Application,
        }
    }

    /// Returns how another container of the pod affects the probe.
    fn collision(&self, record: &Record) -> Option<&'static ProbeFault> {
        if self.era == Era::PerContainer {
            return self
                .competing_probe(record)
                .map(|rival| match rival.transport {
                    Transport::Tls => &faults::TLS_ANSWERED_BY_OTHER,
                    _ => &faults::ANSWERED_BY_OTHER,
                });
        }
        let kept = kept(self.era, self.records);
        if record.transport == Transport::Tcp {
            // The helper reads the port from the header, so it only has to exist.
            let has_helper = kept.iter().any(|record| record.transport == Transport::Tcp);
            return (!has_helper).then_some(&faults::HELPER_TAKEN);
        }
        let last = self.competing_probe(record)?;
        match (record.transport, last.transport) {
            (_, Transport::Tcp) => Some(&faults::LISTENER_TAKEN),
            (Transport::Tls, Transport::Tls) => Some(&faults::TLS_ANSWERED_BY_OTHER),
            (Transport::Http, Transport::Http) => Some(&faults::ANSWERED_BY_OTHER),
            _ => Some(&faults::TLS_MIXED),
        }
    }

    /// Returns the different probe of another container that receives the request instead.
    fn competing_probe(&self, record: &Record) -> Option<&Record> {
        let others = self.records.iter().filter(|other| {
            other.slot == record.slot && other.index != record.index && !is_alike(other, record)
        });
        if self.era == Era::PerContainer {
            let mut others = others;
            return others.find(|other| match (record.transport, other.transport) {
                (Transport::Tls, Transport::Tls) => true,
                // Routes match prefixes: `a` also matches requests for `ab`.
                (Transport::Http, Transport::Http) => {
                    record.container.starts_with(&other.container)
                }
                _ => false,
            });
        }
        let last = self
            .records
            .iter()
            .rfind(|other| other.slot == record.slot)?;
        (last.index != record.index && !is_alike(last, record)).then_some(last)
    }

    fn rival(&self, record: &Record, fault: &ProbeFault) -> Vec<Reason> {
        let is_collision = [
            &faults::ANSWERED_BY_OTHER,
            &faults::LISTENER_TAKEN,
            &faults::HELPER_TAKEN,
            &faults::TLS_ANSWERED_BY_OTHER,
            &faults::TLS_MIXED,
        ]
        .contains(&fault);
        let rival = self.competing_probe(record).filter(|_| is_collision);
        let place = rival.and_then(|rival| {
            let containers = self.input.workload.template.containers();
            let container = containers
                .into_iter()
                .find(|container| container.name() == rival.container)?;
            let entry = container.node.entry(record.slot.key())?;
            let message = match (self.era, rival.transport) {
                (Era::PerContainer, Transport::Tls) => {
                    "this probe of the same kind may take precedence: the order is random"
                }
                (Era::PerContainer, _) => {
                    "the route for this probe has a matching prefix, and may take precedence"
                }
                _ => "this probe of the same kind takes precedence",
            };
            Some(
                self.input
                    .workload
                    .object
                    .label_at(entry.key.span(), message),
            )
        });
        place.map(Reason::written).into_iter().collect()
    }

    /// Returns whether other releases have another result.
    fn is_by_release(&self, record: &Record, destination: ProbeDestination) -> bool {
        let by_collision = [
            &faults::ANSWERED_BY_OTHER,
            &faults::LISTENER_TAKEN,
            &faults::HELPER_TAKEN,
            &faults::TLS_MIXED,
        ]
        .map(ProbeDestination::Fault)
        .contains(&destination);
        by_collision || (self.era < Era::PerKind && record.transport != Transport::Http)
    }

    fn explanation(&self, record: &Record) -> Vec<(&'static str, String)> {
        let Some(port) = listener_port(record.slot) else {
            return Vec::new();
        };
        let text = match record.transport {
            Transport::Tcp if self.era < Era::PerKind => return Vec::new(),
            Transport::Tcp => format!(
                "container {HEALTHCHECK_CONTAINER} on {HEALTHCHECK_PORT} opens 127.0.0.1:{}",
                record.port
            ),
            transport => {
                let path = match transport {
                    Transport::Http => format!(", path {}", record.path),
                    _ => ", as bytes".to_owned(),
                };
                format!(
                    "{}_listener on {port} to {} 127.0.0.1:{}{path}",
                    probe_kind(record.slot),
                    cluster_name(self.era, record),
                    record.port
                )
            }
        };
        vec![("endpoint", text)]
    }
}

/// Returns whether two probes send the same request to the pod, so that it does not matter which one is forwarded.
fn is_alike(first: &Record, second: &Record) -> bool {
    first.transport == second.transport && first.port == second.port && first.path == second.path
}

/// Judges a handler of an injected pod that reaches the application through the inbound listener.
pub(super) fn unchanged(
    input: &PodInput<'_, '_>,
    handler: &Probe<'_>,
    action: &ProbeHandler,
    port: i64,
) -> ProbeDestination {
    if action.host().is_some() {
        return ProbeDestination::Elsewhere;
    }
    if exclusion(input, port).is_some() {
        return ProbeDestination::Direct;
    }
    match action {
        _ if PORTS.iter().any(|(own, _)| *own == port) => {
            ProbeDestination::Fault(&shared_faults::PORT_OF_PROXY)
        }
        ProbeHandler::TcpSocket { .. } => ProbeDestination::Accepted,
        ProbeHandler::Grpc { .. } => ProbeDestination::Fault(&shared_faults::GRPC_AT_MTLS),
        _ if handler.slot.is_lifecycle() => ProbeDestination::Fault(&shared_faults::HOOK_AT_MTLS),
        _ => ProbeDestination::Fault(&faults::NOT_CHANGED),
    }
}

/// Returns the reason for which a port is excluded from traffic capture, if it is.
pub(super) fn exclusion(input: &PodInput<'_, '_>, port: i64) -> Option<Reason> {
    model::exclusion(input, EXCLUDED_PORTS, Some(port))
}

/// Returns the action of a handler that uses the network, with its port.
pub(super) fn network_action<'a>(handler: &'a HandlerRef<'_>) -> Option<(&'a ProbeHandler, i64)> {
    let action = handler.1.action.as_ref().ok()?;
    action.port()?;
    Some((action, port_of(handler).unwrap_or(0)))
}

/// Returns whether a handler targets the proxy on one of its paths.
pub(super) fn points_at_proxy(action: &ProbeHandler, port: i64) -> bool {
    let own = (15901..=HEALTHCHECK_PORT).contains(&port);
    own && matches!(action, ProbeHandler::HttpGet(http) if is_own_path(&http.path))
}

/// Returns whether a header names the port for the helper to check.
pub(super) fn names_port((name, value): &(String, String)) -> bool {
    name.eq_ignore_ascii_case(TCP_PORT_HEADER) && value.parse::<u16>().is_ok_and(|port| port > 0)
}
