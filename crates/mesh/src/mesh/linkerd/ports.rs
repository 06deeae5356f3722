//! The ports that a pod lists or declares.

use crate::kube::{Port, ProbeHandler, Slot};
use crate::mesh::model::{HandlerRef, PodInput};

use super::keys::PROXY;

/// Returns whether a pod or its Namespace lists a port in this annotation, which contains numbers and ranges.
pub(super) fn is_listed(input: &PodInput<'_, '_>, key: &str, port: i64) -> bool {
    let own = input.workload.template.annotation(key);
    let entry = own.or_else(|| input.namespace?.annotation(key));
    let text = entry.and_then(|entry| entry.value.text());
    text.unwrap_or_default()
        .split(',')
        .map(str::trim)
        .any(|part| {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            match (first.trim().parse::<i64>(), last.trim().parse::<i64>()) {
                (Ok(first), Ok(last)) => (first..=last).contains(&port),
                _ => false,
            }
        })
}

/// Returns whether the proxy does not know the port of a startup probe: it knows declared ports
/// and the numbers in liveness and readiness probes.
pub(super) fn is_undeclared(input: &PodInput<'_, '_>, handler: &HandlerRef<'_>, port: i64) -> bool {
    if handler.1.slot != Slot::Startup {
        return false;
    }
    let containers = input.workload.template.containers();
    !containers
        .iter()
        .filter(|container| container.name() != PROXY)
        .any(|container| {
            let is_declared = container
                .ports()
                .any(|declared| declared.number == Some(port));
            is_declared
                || container.handlers().iter().any(|handler| {
                    matches!(handler.slot, Slot::Liveness | Slot::Readiness)
                        && matches!(
                            &handler.action,
                            Ok(ProbeHandler::HttpGet(http)) if http.port == Port::Number(port)
                        )
                })
        })
}
