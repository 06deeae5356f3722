//! Decides which pods Linkerd's webhook injects.
//!
//! The sidecars because of which Linkerd's webhook does not inject a pod.
//!
//! Source: `HasExistingSidecars` in `pkg/healthcheck/sidecar.go`.
//!
//! Whether Linkerd's proxy is a native sidecar, and which handlers run before its traffic capture.
//!
//! Sources: `charts/linkerd-control-plane/values.yaml` (`proxy.nativeSidecar` is true since 2.20, pull request 15267),
//! `charts/patch/templates/patch.json` (a native proxy and its init container are the first init containers; otherwise
//! `linkerd-init` is the last one) and `pkg/inject/inject.go` (the annotations and their precedence).

use meshprobe_tree::source::placeholder;
use meshprobe_yaml::{Entry, Scalar, Span};

use super::keys::{INIT, INJECT, NATIVE_SIDECAR, PROXY};
use crate::finding::Certainty;
use crate::kube::{Container, ContainerList, Object, Slot};
use crate::mesh::Fact;
use crate::mesh::model::{
    HandlerRef, Membership, PodInput, by_option, by_switch, parse_bool, without_namespace,
};
use crate::mesh::version::Version;

const SETTLE_TOKEN: &str = "identity.serviceAccountTokenProjection of the chart";

/// The first release whose proxy has a token of its own (edge-21.11.1).
const PROJECTED_TOKEN: Version = Version::new(2, 12);

/// The value of the injection annotation.
#[derive(PartialEq, Eq)]
enum InjectValue {
    On,
    Off,
    /// A value that switches injection off, whatever the other annotation contains.
    Invalid,
    Placeholder,
}

fn inject_value(entry: &Entry<'_>) -> Option<InjectValue> {
    match entry.value.text().unwrap_or_default() {
        "" => None,
        "enabled" | "ingress" => Some(InjectValue::On),
        "disabled" => Some(InjectValue::Off),
        text if placeholder::contains(text) => Some(InjectValue::Placeholder),
        _ => Some(InjectValue::Invalid),
    }
}

/// Decides whether the pod is a member of the mesh. Source: `pkg/inject/report.go`. The Namespace enables injection
/// unless the pod disables it, or the pod enables it itself; pods with a sidecar or on the host network are
/// excluded, and before 2.12 those without a token.
pub(super) fn membership(input: &PodInput<'_, '_>) -> Fact<Membership> {
    let object = &input.workload.object;
    let template = &input.workload.template;
    let known = |value, object: &Object<'_>, span, message: &str| {
        Fact::known(value, object.label_at(span, message))
    };
    if let Some(sidecar) = of(input) {
        return sidecar;
    }
    if let Some(entry) = template.host_network() {
        let message = "pods on the host network are not injected";
        return known(Membership::Outside, object, entry.key.span(), message);
    }
    let without_token = template
        .spec
        .entry("automountServiceAccountToken")
        .filter(|entry| entry.value.scalar() == Some(Scalar::Bool(false)));
    let projects_token = input
        .release
        .is_none_or(|release| release >= PROJECTED_TOKEN);
    if let Some(entry) = without_token.as_ref().filter(|_| !projects_token) {
        let message = "pods without the token of their ServiceAccount are not injected";
        return known(Membership::Outside, object, entry.key.span(), message);
    }
    let member = requested(input);
    match without_token {
        Some(_) if member.value == Membership::Injected => member.depending_on(&projected_token()),
        _ => member,
    }
}

/// Returns the reason why a pod without the token of its ServiceAccount is injected. Source:
/// `identity.serviceAccountTokenProjection` in `charts/linkerd-control-plane/values.yaml`.
fn projected_token() -> Fact<()> {
    let message = "the chart enables `identity.serviceAccountTokenProjection` by default, so the \
                   pod does not need the token of its ServiceAccount";
    Fact::default((), message, SETTLE_TOKEN)
}

/// Decides by the annotations of the pod and its Namespace.
fn requested(input: &PodInput<'_, '_>) -> Fact<Membership> {
    let object = &input.workload.object;
    let template = &input.workload.template;
    let of_pod = template.annotation(INJECT).map(|entry| (object, entry));
    let of_namespace = input
        .namespace
        .and_then(|namespace| Some((namespace, namespace.annotation(INJECT)?)));
    let read = |source: Option<(&Object<'_>, Entry<'_>)>| {
        let (object, entry) = source?;
        let place = |message: &str| object.label_at(entry.value.span(), message);
        Some(match inject_value(&entry)? {
            InjectValue::Invalid => Fact::known(
                Membership::Outside,
                place("Linkerd does not know this value, and does not inject the pod"),
            ),
            value => by_switch(object, &entry, Some(value == InjectValue::On), ""),
        })
    };
    let is_invalid = |source: &(&Object<'_>, Entry<'_>)| {
        matches!(inject_value(&source.1), Some(InjectValue::Invalid))
    };
    if let Some(invalid) = read(of_namespace.filter(is_invalid)) {
        return invalid;
    }
    if let Some(own) = read(of_pod) {
        return own;
    }
    if let Some(hypothesis) = &input.supposed {
        return by_option(hypothesis);
    }
    if let Some(outer) = read(of_namespace) {
        return outer;
    }
    match input.namespace {
        Some(namespace) => {
            let message = format!(
                "neither the pod nor Namespace `{}` has the annotation `{INJECT}`",
                namespace.name()
            );
            let place = namespace.label_at(namespace.name_span(), message);
            Fact::known(Membership::Outside, place)
        }
        None => without_namespace(input),
    }
}

/// The first release that looks for proxies in init containers (edge-24.5.1).
const NATIVE_PROXIES: Version = Version::new(2, 16);

/// The name and the image of a container that the webhook looks for.
struct Sidecar {
    name: &'static str,
    image: &'static str,
    membership: Membership,
    message: &'static str,
}

const PROXIES: [Sidecar; 2] = [
    Sidecar {
        name: PROXY,
        image: "cr.l5d.io/linkerd/proxy:",
        membership: Membership::AlreadyInjected,
        message: "the manifest contains the proxy of Linkerd",
    },
    Sidecar {
        name: "istio-proxy",
        image: "gcr.io/istio-release/proxyv2:",
        membership: Membership::Outside,
        message: "Linkerd does not inject pods with the proxy of Istio",
    },
];

const INIT_CONTAINERS: [Sidecar; 2] = [
    Sidecar {
        name: INIT,
        image: "cr.l5d.io/linkerd/proxy-init:",
        membership: Membership::Outside,
        message: "Linkerd does not inject pods that contain its init container",
    },
    Sidecar {
        name: "istio-init",
        image: "gcr.io/istio-release/proxy_init:",
        membership: Membership::Outside,
        message: "Linkerd does not inject pods with the init container of Istio",
    },
];

impl Sidecar {
    /// Returns where a container has the name or the image, and what follows. An image does not show that the container
    /// is the proxy of this pod.
    fn found_in(&self, container: &Container<'_>) -> Option<(Span, Membership, &'static str)> {
        if container.name() == self.name {
            let span = container.node.get("name")?.span();
            return Some((span, self.membership, self.message));
        }
        container
            .image()
            .filter(|image| image.starts_with(self.image))?;
        let span = container.node.get("image")?.span();
        let message = "Linkerd does not inject pods with this image";
        Some((span, Membership::Outside, message))
    }
}

/// Returns whether the webhook looks for a proxy in a container. Before 2.16 it ignores init containers; a second
/// container named `linkerd-proxy` is never added.
fn is_checked_for_proxies(container: &Container<'_>, release: Option<Version>) -> bool {
    match container.list {
        ContainerList::Main => true,
        ContainerList::Init => {
            container.name() == PROXY || release.is_none_or(|release| release >= NATIVE_PROXIES)
        }
        ContainerList::Ephemeral => false,
    }
}

/// Returns the membership of a pod that contains a sidecar: the webhook does not change it.
pub(super) fn of(input: &PodInput<'_, '_>) -> Option<Fact<Membership>> {
    let containers = input.workload.template.containers();
    let proxies = PROXIES
        .iter()
        .flat_map(|sidecar| containers.iter().map(move |container| (sidecar, container)))
        .filter(|(_, container)| is_checked_for_proxies(container, input.release));
    let init = INIT_CONTAINERS.iter().flat_map(|sidecar| {
        containers
            .iter()
            .filter(|container| container.list == ContainerList::Init)
            .map(move |container| (sidecar, container))
    });
    proxies.chain(init).find_map(|(sidecar, container)| {
        let (span, membership, message) = sidecar.found_in(container)?;
        let place = input.workload.object.label_at(span, message);
        Some(Fact::known(membership, place))
    })
}

const SETTLE_NATIVE: &str = "--assume native-sidecars=true|false";

/// The first release whose proxy is a native sidecar by default (edge-26.5.2).
const BY_DEFAULT: Version = Version::new(2, 20);
/// The first release that has native sidecars (edge-23.11.4).
const SUPPORTED: Version = Version::new(2, 15);
/// The first releases that read each of [`NATIVE_SIDECAR`].
const READ_SINCE: [Version; 3] = [BY_DEFAULT, Version::new(2, 19), SUPPORTED];

/// Returns the fact that a handler runs before `linkerd-init` captures the traffic of the pod: a startup probe or a
/// `postStart` hook of a native sidecar, if the proxy is not a native sidecar.
pub(super) fn before_capture(
    input: &PodInput<'_, '_>,
    (container, handler): &HandlerRef<'_>,
) -> Option<Fact<()>> {
    let is_early = matches!(handler.slot, Slot::Startup | Slot::PostStart);
    if container.list != ContainerList::Init || !is_early || has_own_proxy(input) {
        return None;
    }
    let native = native_proxy(input);
    if native.value {
        return None;
    }
    let message = format!(
        "`{INIT}` captures traffic (default of `cniEnabled`), after the sidecars of the pod start"
    );
    Some(
        native
            .map(|_| ())
            .depending_on(&Fact::default((), message, "`cniEnabled` of the chart")),
    )
}

/// Returns whether the manifest contains the proxy, so that the webhook does not decide the order of containers.
fn has_own_proxy(input: &PodInput<'_, '_>) -> bool {
    let template = &input.workload.template;
    template
        .containers()
        .iter()
        .any(|container| matches!(container.name(), PROXY | INIT))
}

/// Returns whether the proxy is a native sidecar.
fn native_proxy(input: &PodInput<'_, '_>) -> Fact<bool> {
    if input.release.is_some_and(|release| release < SUPPORTED) {
        return Fact::settled(
            false,
            "Linkerd does not support native sidecars before 2.15",
        );
    }
    let by_user = input.native_sidecars.as_ref();
    let overridden = by_user.filter(|fact| fact.certainty == Certainty::Known);
    let given = overridden.cloned().or_else(|| written(input));
    if let Some(fact) = given.or_else(|| by_user.cloned()) {
        return fact;
    }
    let is_default = input.release.is_none_or(|release| release >= BY_DEFAULT);
    let message = match is_default {
        true => "Linkerd's proxy is a native sidecar by default since 2.20",
        false => "Linkerd's proxy is not a native sidecar by default before 2.20",
    };
    Fact::default(is_default, message, SETTLE_NATIVE)
}

/// Returns what the annotations of the pod or its Namespace state. The injector ignores values that are not booleans.
fn written(input: &PodInput<'_, '_>) -> Option<Fact<bool>> {
    let template = &input.workload.template;
    let is_read = |since: Version| input.release.is_none_or(|release| release >= since);
    let keys = NATIVE_SIDECAR
        .into_iter()
        .zip(READ_SINCE)
        .filter(|(_, since)| is_read(*since));
    let mut entries = keys.filter_map(|(key, _)| {
        let own = template.annotation(key);
        let own = own.map(|entry| (&input.workload.object, entry));
        own.or_else(|| Some((input.namespace?, input.namespace?.annotation(key)?)))
    });
    let (object, entry) = entries.next()?;
    let value = parse_bool(entry.value.text()?)?;
    let not = if value { "" } else { "not " };
    let message = format!("the proxy is {not}a native sidecar");
    let place = object.label_at(entry.value.span(), message);
    Some(Fact::known(value, place))
}
