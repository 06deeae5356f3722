//! Handlers that OSM does not change.

use crate::kube::{Probe, ProbeHandler};
use crate::mesh::fact::Reason;
use crate::mesh::model::{PodInput, ProbeDestination};
use crate::mesh::shared_faults;

use super::keys::PORTS;
use super::{faults, injection};

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
    if !exclusion(input, port).is_empty() {
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
pub(super) fn exclusion(input: &PodInput<'_, '_>, port: i64) -> Vec<Reason> {
    injection::excluded(input)
        .into_iter()
        .filter(|(number, _)| *number == port)
        .map(|(_, place)| Reason::written(place))
        .take(1)
        .collect()
}
