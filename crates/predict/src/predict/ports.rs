//! Resolves the port of a handler to its number.

use meshprobe_mesh::kube::{Container, ContainerPort, Port, Probe, ProbeHandler, Workload};

use crate::predict::cause::Cause;

/// Resolves a port to its number as the injector and the kubelet do: in the container's own
/// `ports`, any protocol, exact case. The API server refuses duplicates, of which the kubelet would take the first, and
/// the injector the last.
///
/// Sources: Kubernetes 1.37.2, `pkg/probe/util.go` (`findPortByName`); Istio 1.31, `pkg/kube/inject/app_probe.go`.
///
/// # Errors
///
/// Returns the cause if the port is a name without a known number.
pub(in crate::predict) fn resolve(
    port: &Port,
    container: &Container<'_>,
    workload: &Workload<'_>,
) -> Result<i64, Cause> {
    let name = match port {
        Port::Number(number) => return Ok(*number),
        Port::Name(name) => name,
    };
    if let Some(port) = declaration(container, name) {
        // Another tool fills in a missing number, or the API server rejects the declaration.
        return port.number.ok_or(Cause::Placeholder);
    }
    if name.parse::<i64>().is_ok() {
        return Err(Cause::PortQuoted);
    }
    if workload.template.index().declares_port(name) {
        return Err(Cause::PortOfOtherContainer);
    }
    Err(Cause::PortUnresolved)
}

/// Returns the first declaration of a port name in a container.
pub(in crate::predict) fn declaration<'t>(
    container: &Container<'t>,
    name: &str,
) -> Option<ContainerPort<'t>> {
    container.ports().find(|port| port.name == Some(name))
}

/// Returns the port number that a handler targets, if the port resolves to one.
#[must_use]
pub fn port_of<'t>(
    workload: &Workload<'t>,
    container: &Container<'t>,
    handler: &Probe<'t>,
) -> Option<i64> {
    let port = handler.action.as_ref().ok().and_then(ProbeHandler::port)?;
    crate::predict::ports::resolve(&port, container, workload).ok()
}
