//! Pods that cannot be created because of their ports or containers.
//!
//! Sources, in consul-k8s v2.0.3:
//! - ports: `ServiceMetricsPort` in `control-plane/connect-inject/metrics/metrics_configuration.go`, which the webhook
//!   calls for each pod, and `PortValue` in `control-plane/connect-inject/common/common.go`;
//! - values: `EnableMetrics` and `EnableMetricsMerging` in the same file, `EnableProxyLifecycle` and
//!   `EnableConsulDataplaneAsSidecar` in `control-plane/connect-inject/lifecycle/lifecycle_configuration.go`, and
//!   `getContainerSidecarArgs` in `consul_dataplane_sidecar.go`;
//! - the user: `consulDataplaneSidecar` in `consul_dataplane_sidecar.go`;
//! - names of added containers: `consul_dataplane_sidecar.go` and `container_init.go` in
//!   `control-plane/connect-inject/webhook`.
//!
//! The services that a pod represents.

use meshprobe_tree::source::placeholder;
use meshprobe_yaml::{Entry, NodeRef, Scalar, resolve_plain};

use super::keys::{
    AS_SIDECAR, CONCURRENCY, DATAPLANE, INIT, LIFECYCLE, METRICS_PORT, SERVICE, SERVICE_PORT,
    SWITCHES, USER,
};
use crate::kube::{Container, ContainerList, Workload, integer};
use crate::mesh::go_bool::parse_bool;
use crate::mesh::model::{Membership, PodInput};
use crate::mesh::{Fact, Version};

const SETTLE_OPENSHIFT: &str = "`global.openshift.enabled` of the chart";

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

/// Rejects a pod with an annotation that the webhook cannot parse.
pub(super) fn by_value(input: &PodInput<'_, '_>) -> Option<Fact<Membership>> {
    let template = &input.workload.template;
    let is_read = |key: &str| {
        let since = match key {
            LIFECYCLE => Version::new(1, 3),
            AS_SIDECAR => Version::new(1, 9),
            _ => return true,
        };
        input.release.is_none_or(|release| release >= since)
    };
    let switches = SWITCHES
        .into_iter()
        .filter(|key| is_read(key))
        .filter_map(|key| template.annotation(key));
    let invalid = switches
        .map(|entry| (entry, "a boolean"))
        .find(|(entry, _)| is_not(entry, |text| text.is_empty() || parse_bool(text).is_some()));
    let threads = || {
        let entry = template.annotation(CONCURRENCY)?;
        is_not(&entry, is_unsigned).then_some((entry, "a whole number"))
    };
    let (entry, expected) = invalid.or_else(threads)?;
    let text = entry.value.text().unwrap_or_default();
    let message = format!("the webhook rejects the pod: `{text}` is not {expected}");
    let place = input.workload.object.label_at(entry.value.span(), message);
    Some(Fact::known(Membership::Refused, place))
}

fn is_not(entry: &Entry<'_>, is_valid: impl Fn(&str) -> bool) -> bool {
    let text = entry.value.text().unwrap_or_default();
    !is_valid(text) && !placeholder::contains(text)
}

/// Returns whether Go's `strconv.ParseUint(text, 10, 64)` accepts a text.
fn is_unsigned(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit()) && text.parse::<u64>().is_ok()
}

/// Rejects a pod or a container that runs as the user of the proxy, whose traffic is not redirected. On OpenShift, the
/// proxy has another user.
pub(super) fn by_user(input: &PodInput<'_, '_>) -> Option<Fact<Membership>> {
    let template = &input.workload.template;
    let user_of = |node: NodeRef<'_>| {
        node.get("securityContext")?
            .get("runAsUser")
            .map(|user| (user.span(), integer(user)))
    };
    let containers = template.containers_in(ContainerList::Main);
    let own = containers.iter().map(|container| container.node);
    let mut users = core::iter::once(template.spec)
        .chain(own)
        .filter_map(user_of);
    let (span, _) = users.find(|(_, user)| *user == Some(USER))?;
    let message = format!("the webhook rejects the pod: {USER} is the user of the proxy");
    let place = input.workload.object.label_at(span, message);
    let message = "the chart does not set `global.openshift.enabled` (default)";
    let default = Fact::default((), message, SETTLE_OPENSHIFT);
    Some(Fact::known(Membership::Refused, place).depending_on(&default))
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

/// Returns the annotation of a pod that represents several services: it contains one name for each of the ports.
#[must_use]
pub fn several_services<'t>(workload: &Workload<'t>) -> Option<Entry<'t>> {
    let entry = workload.template.annotation(SERVICE)?;
    let text = entry.value.text()?;
    text.contains(',').then_some(entry)
}
