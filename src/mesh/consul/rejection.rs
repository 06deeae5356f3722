//! Pods that cannot be created because of their ports or containers.
//!
//! Sources, in consul-k8s v2.0.3:
//! - ports: `ServiceMetricsPort` in `control-plane/connect-inject/metrics/metrics_configuration.go`, which the webhook
//!   calls for each pod, and `PortValue` in `control-plane/connect-inject/common/common.go`;
//! - names of added containers: `consul_dataplane_sidecar.go` and `container_init.go` in
//!   `control-plane/connect-inject/webhook`.

use crate::kube::{Container, ContainerList};
use crate::mesh::Fact;
use crate::mesh::model::{Membership, PodInput};
use crate::source::placeholder;
use crate::yaml::{Entry, Scalar, resolve_plain};

use super::keys::{DATAPLANE, INIT, METRICS_PORT, SERVICE_PORT};
use super::services::several_services;

/// Rejects a pod whose service port is neither a number nor a port of its containers. The webhook resolves the first
/// of several ports, and none if another annotation sets the port for metrics.
pub(super) fn by_service_port(input: &PodInput<'_, '_>) -> Option<Fact<Membership>> {
    let template = &input.workload.template;
    let text = |key| {
        let entry: Entry<'_> = template.annotation(key)?;
        let text = entry.value.text().filter(|text| !text.is_empty())?;
        Some((entry, text))
    };
    let (entry, ports) = text(SERVICE_PORT).filter(|_| text(METRICS_PORT).is_none())?;
    let port = ports.split(',').next()?;
    let containers = template.containers_in(ContainerList::Main);
    let is_declared = containers
        .iter()
        .flat_map(Container::ports)
        .filter_map(|declared| declared.name)
        .any(|name| name == port || placeholder::contains(name));
    if is_declared || is_number(port) || placeholder::contains(ports) {
        return None;
    }
    let message = format!("the webhook rejects the pod: no container declares the port `{port}`");
    let place = input.workload.object.label_at(entry.value.span(), message);
    Some(Fact::known(Membership::Refused, place))
}

/// Returns whether Go's `strconv.ParseInt(text, 0, 32)` accepts a text.
fn is_number(text: &str) -> bool {
    matches!(resolve_plain(text), Scalar::Int(number) if i32::try_from(number).is_ok())
}

/// Rejects a pod with a container that has the name of one that the webhook adds: the names of a pod are unique.
pub(super) fn by_container_name(input: &PodInput<'_, '_>) -> Option<Fact<Membership>> {
    let services = several_services(input.workload).and_then(|entry| entry.value.text());
    let containers = input.workload.template.containers();
    let container = containers
        .iter()
        .find(|container| is_added(container.name(), services))?;
    let message = format!(
        "the API server rejects the pod: the webhook adds another container `{}`",
        container.name()
    );
    let span = container.node.get("name")?.span();
    let place = input.workload.object.label_at(span, message);
    Some(Fact::known(Membership::Refused, place))
}

/// Returns whether the webhook adds a container of this name: one of each kind, or one for each of several services.
fn is_added(name: &str, services: Option<&str>) -> bool {
    [DATAPLANE, INIT].iter().any(|own| {
        let Some(rest) = name.strip_prefix(own) else {
            return false;
        };
        let Some(services) = services else {
            return rest.is_empty();
        };
        services.split(',').any(|service| match service {
            "" => rest.is_empty(),
            _ => rest.strip_prefix('-') == Some(service),
        })
    })
}
