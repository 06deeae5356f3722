//! Decides which pods Consul's webhook injects, which it rejects, and the values of its settings.
//!
//! Sources, consul-k8s a507b1d1: `control-plane/connect-inject/webhook/mesh_webhook.go`
//! (`shouldInject`, `checkUnsupportedMultiPortCases`), `common/annotation_processor.go`
//! (`TransparentProxyEnabled`, `ShouldOverwriteProbes`).
//!
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
    AS_SIDECAR, CONCURRENCY, DATAPLANE, EXCLUDED_PORTS, INIT, INJECT, LIFECYCLE, METRICS_PORT,
    OVERWRITE, SERVICE, SERVICE_PORT, STATUS, SWITCHES, TRANSPARENT, USER,
};
use crate::finding::Certainty;
use crate::kube::{Container, ContainerList, Object, Workload, integer};
use crate::mesh::model::{
    Membership, PodInput, SETTLE_INJECTION, by_option, by_switch, parse_bool,
    placeholder_membership,
};
use crate::mesh::{Fact, Reason, Version};

const SETTLE_TRANSPARENT: &str = "annotation consul.hashicorp.com/transparent-proxy";
const SETTLE_OVERWRITE: &str = "annotation consul.hashicorp.com/transparent-proxy-overwrite-probes";

/// Namespaces that are never injected.
const NEVER: [&str; 2] = ["kube-system", "kube-public"];

/// Decides whether the pod is a member of the mesh.
pub(super) fn membership(input: &PodInput<'_, '_>) -> Fact<Membership> {
    let member = injection(input);
    if member.value != Membership::Injected {
        return member;
    }
    let placeholder = placeholder_membership(input, &[TRANSPARENT, OVERWRITE, EXCLUDED_PORTS]);
    placeholder.or_else(|| refusal(input)).unwrap_or(member)
}

fn injection(input: &PodInput<'_, '_>) -> Fact<Membership> {
    let object = &input.workload.object;
    if let Some(fact) = already_injected(input) {
        return fact;
    }
    if NEVER.contains(&input.namespace_name) {
        let message = format!("namespace `{}` is never injected", input.namespace_name);
        return Fact::settled(Membership::Outside, message);
    }
    if let Some(entry) = status(input) {
        let message = "the webhook does not inject pods with this annotation";
        let place = object.label_at(entry.key.span(), message);
        return Fact::known(Membership::Outside, place);
    }
    let Some(entry) = input.workload.template.annotation(INJECT) else {
        if let Some(hypothesis) = &input.supposed {
            return by_option(hypothesis);
        }
        let message = format!("no annotation `{INJECT}` enables injection");
        return Fact::default(Membership::Outside, message, SETTLE_INJECTION);
    };
    let switch = parse_bool(entry.value.text().unwrap_or_default());
    by_switch(object, &entry, switch, "a boolean")
}

/// Returns the annotation of a pod that the webhook has processed, if it is not empty.
fn status<'t>(input: &PodInput<'_, 't>) -> Option<Entry<'t>> {
    input
        .workload
        .template
        .annotation(STATUS)
        .filter(|entry| entry.value.text().is_some_and(|text| !text.is_empty()))
}

/// Detects a pod that was injected before: the manifest contains the proxy and the annotation of the webhook.
fn already_injected(input: &PodInput<'_, '_>) -> Option<Fact<Membership>> {
    let entry = status(input)?;
    let containers = input.workload.template.containers();
    containers
        .iter()
        .any(|container| is_proxy(container.name()))
        .then(|| {
            let message = "the manifest contains the proxy of Consul";
            let place = input.workload.object.label_at(entry.key.span(), message);
            Fact::known(Membership::AlreadyInjected, place)
        })
}

/// Returns whether a container has the name of a proxy: pods with several services have one for each.
fn is_proxy(name: &str) -> bool {
    name.strip_prefix(DATAPLANE)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('-'))
}

/// Returns the reason why a pod that the webhook would inject cannot be created, if there is one.
fn refusal(input: &PodInput<'_, '_>) -> Option<Fact<Membership>> {
    let object = &input.workload.object;
    let invalid = [TRANSPARENT, OVERWRITE]
        .into_iter()
        .filter_map(|key| input.workload.template.annotation(key))
        .find(is_not_boolean);
    if let Some(entry) = invalid {
        return Some(by_switch(object, &entry, None, "a boolean"));
    }
    if input.workload.template.annotation(TRANSPARENT).is_none()
        && let Some(namespace) = input.namespace
        && let Some(entry) = namespace.label(TRANSPARENT).filter(is_not_boolean)
    {
        return Some(by_switch(namespace, &entry, None, "a boolean"));
    }
    by_several_services(input)
        .or_else(|| by_value(input))
        .or_else(|| by_service_port(input))
        .or_else(|| by_user(input))
        .or_else(|| by_container_name(input))
}

/// Rejects a pod that represents several services and uses the transparent proxy.
fn by_several_services(input: &PodInput<'_, '_>) -> Option<Fact<Membership>> {
    let entry = several_services(input.workload)?;
    let transparent = transparent(input);
    let message =
        "the webhook rejects the pod: the transparent proxy does not support several services";
    let place = input.workload.object.label_at(entry.value.span(), message);
    let fact = Fact::known(Membership::Refused, place);
    transparent.value.then(|| fact.depending_on(&transparent))
}

/// Returns whether a value is neither a boolean nor a placeholder.
fn is_not_boolean(entry: &Entry<'_>) -> bool {
    let text = entry.value.text().unwrap_or_default();
    parse_bool(text).is_none() && !placeholder::contains(text)
}

/// Returns whether the traffic of the pod is redirected to its proxy.
pub(super) fn transparent(input: &PodInput<'_, '_>) -> Fact<bool> {
    let object = &input.workload.object;
    if let Some(entry) = input.workload.template.annotation(TRANSPARENT) {
        return switch(object, &entry, "the transparent proxy");
    }
    if let Some(namespace) = input.namespace
        && let Some(entry) = namespace.label(TRANSPARENT)
    {
        return switch(namespace, &entry, "the transparent proxy");
    }
    let message = "the chart enables the transparent proxy by default";
    Fact::default(true, message, SETTLE_TRANSPARENT)
}

/// Returns whether the webhook rewrites the probes of the pod, if its traffic is redirected.
pub(super) fn overwrites(input: &PodInput<'_, '_>) -> Fact<bool> {
    match input.workload.template.annotation(OVERWRITE) {
        Some(entry) => switch(&input.workload.object, &entry, "the rewrite of probes"),
        None => {
            let message = "the chart enables the rewrite of probes by default";
            Fact::default(true, message, SETTLE_OVERWRITE)
        }
    }
}

fn switch(object: &Object<'_>, entry: &Entry<'_>, what: &str) -> Fact<bool> {
    let text = entry.value.text().unwrap_or_default();
    let at = |state: &str| object.label_at(entry.value.span(), format!("{what} is {state}"));
    match parse_bool(text) {
        Some(true) => Fact::known(true, at("on")),
        Some(false) => Fact::known(false, at("off")),
        None => Fact {
            value: true,
            certainty: Certainty::Assumed,
            because: vec![Reason::written(at(
                "assumed to be on: its value is a placeholder",
            ))],
        },
    }
}

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
