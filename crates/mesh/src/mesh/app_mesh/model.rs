//! How pods take part in App Mesh.
//!
//! How the listeners of a `VirtualNode` treat each handler.
//!
//! The ways in which App Mesh breaks a handler.
//!
//! The labels and annotations of App Mesh, with what editors offer for each.

use meshprobe_tree::source::placeholder;
use meshprobe_yaml::NodeRef;

use crate::kube::{Object, ProbeHandler, Requirements, Workload, integer};
use crate::mesh::description::{KnownKey, Mesh, known_keys};
use crate::mesh::fact::{Fact, Reason};
use crate::mesh::model::{
    HandlerRef, Membership, MeshModel, PodInput, ProbeDestination, ProbeTreatment, RewriteSupport,
    SETTLE_INJECTION, by_option, by_switch, release_of, treatments_of_unchanged_probes,
    with_container, without_namespace,
};
use crate::mesh::version::Version;

/// The model of App Mesh.
#[derive(Debug)]
pub(crate) struct AppMesh;

impl MeshModel for AppMesh {
    fn release(&self, given: Option<Version>) -> Fact<Option<Version>> {
        release_of(Mesh::APP_MESH, given, "the release is the latest")
    }

    fn own_containers(&self) -> &'static [&'static str] {
        &[ENVOY, "proxyinit"]
    }

    fn membership(&self, input: &PodInput<'_, '_>) -> Fact<Membership> {
        let object = &input.workload.object;
        let template = &input.workload.template;
        let message = "the manifest contains the proxy of App Mesh";
        if let Some(fact) = with_container(input, ENVOY, message) {
            return fact;
        }
        let switch = template.annotation(INJECT);
        if let Some(entry) = &switch {
            let text = entry.value.text().unwrap_or_default();
            if placeholder::contains(text) || text.eq_ignore_ascii_case("disabled") {
                return by_switch(object, entry, Some(false), "");
            }
        }
        let by_namespace = by_namespace(input);
        if by_namespace.value != Membership::Injected || node(input).is_some() {
            return by_namespace;
        }
        let message = "no VirtualNode in the tree selects the pod, so it is not known whether the \
                       pod is injected";
        Fact::unknown(Membership::Unknown, message, Some(SETTLE_INJECTION))
    }

    fn treatments(
        &self,
        input: &PodInput<'_, '_>,
        membership: Membership,
        handlers: &[HandlerRef<'_>],
    ) -> Vec<ProbeTreatment> {
        let node = node(input);
        treatments_of_unchanged_probes(membership, handlers, |_, action, number| {
            judge(input, node, action, number)
        })
    }

    fn shape(&self) -> RewriteSupport {
        RewriteSupport::unchanged(Version::new(1, 0), "App Mesh does not change probes")
    }

    fn port_owner(
        &self,
        _pod: &Workload<'_>,
        _release: Option<Version>,
        port: i64,
    ) -> Option<&'static str> {
        match port {
            15000 => Some("inbound traffic"),
            15001 => Some("outbound traffic"),
            _ => None,
        }
    }
}

/// Decides membership from the Namespace: the webhook only handles Namespaces with its label.
fn by_namespace(input: &PodInput<'_, '_>) -> Fact<Membership> {
    if let Some(hypothesis) = &input.supposed {
        return by_option(hypothesis);
    }
    let Some(namespace) = input.namespace else {
        let message = format!(
            "Namespace `{}` is not in the tree; App Mesh is assumed to inject it",
            input.namespace_name
        );
        return match node(input) {
            Some(node) => Fact::assumed(Membership::Injected, message, Some(SETTLE_INJECTION))
                .preceded_by(Reason::written(
                    node.label_at(node.name_span(), "this VirtualNode selects the pod"),
                )),
            None => without_namespace(input),
        };
    };
    let entry = namespace
        .label(INJECT)
        .filter(|entry| entry.value.text() == Some("enabled"));
    match entry {
        Some(entry) => {
            let place = namespace.label_at(entry.value.span(), "injection is on");
            Fact::known(Membership::Injected, place)
        }
        None => {
            let message = format!(
                "Namespace `{}` is not labelled `{INJECT}=enabled`",
                namespace.name()
            );
            let place = namespace.label_at(namespace.name_span(), message);
            Fact::known(Membership::Outside, place)
        }
    }
}

/// Returns the `VirtualNode` of a pod: the first one that selects it.
pub(super) fn node<'a, 't>(input: &PodInput<'a, 't>) -> Option<&'a Object<'t>> {
    input
        .objects
        .iter()
        .copied()
        .filter(|object| object.kind == "VirtualNode")
        .find(|node| selects(node, input.workload))
}

/// Returns whether a `VirtualNode` selects a workload. An empty selector selects all pods, a missing one none.
fn selects(node: &Object<'_>, workload: &Workload<'_>) -> bool {
    let selector = node
        .node
        .get("spec")
        .and_then(|spec| spec.get("podSelector"));
    selector.is_some_and(|selector| {
        Requirements::parse(Some(selector))
            .matches(|label| workload.template.label(label)?.value.text())
    })
}

/// Returns the listeners of a `VirtualNode` with their ports.
fn listeners<'t>(node: &Object<'t>) -> Vec<(i64, NodeRef<'t>)> {
    let listeners = node.node.get("spec").and_then(|spec| spec.get("listeners"));
    listeners
        .into_iter()
        .flat_map(NodeRef::items)
        .filter_map(|listener| {
            let port = integer(listener.get("portMapping")?.get("port")?)?;
            Some((port, listener))
        })
        .collect()
}

/// Determines where the connection of a handler to `port` ends.
pub(super) fn judge(
    input: &PodInput<'_, '_>,
    node: Option<&Object<'_>>,
    action: &ProbeHandler,
    port: i64,
) -> ProbeTreatment {
    let written = input.workload.template.annotation(PORTS);
    let written = written.and_then(|entry| entry.value.text());
    let all = node.map(listeners).unwrap_or_default();
    let redirected = match written {
        Some(text) => text
            .split(',')
            .any(|entry| entry.trim().parse::<i64>() == Ok(port)),
        None if node.is_none() => {
            return ProbeTreatment::unchanged(Some(port), ProbeDestination::Unknown);
        }
        None => all.iter().any(|(number, _)| *number == port),
    };
    let listener = all.iter().find(|(number, _)| *number == port);
    let mode = listener.and_then(|(_, listener)| listener.get("tls")?.get("mode"));
    let destination = match (action, listener) {
        _ if !redirected => ProbeDestination::Direct,
        _ if action.host().is_some() => ProbeDestination::Elsewhere,
        (ProbeHandler::TcpSocket { .. }, _) => ProbeDestination::Accepted,
        (_, None) => ProbeDestination::Unknown,
        (ProbeHandler::HttpGet(http), Some((_, listener))) if http.scheme == "HTTPS" => {
            at_https(*listener)
        }
        _ if mode.and_then(NodeRef::text) == Some("STRICT") => {
            ProbeDestination::Fault(&faults::PLAIN_AT_STRICT)
        }
        _ => ProbeDestination::Application,
    };
    let mut treatment = ProbeTreatment::unchanged(Some(port), destination);
    if let (Some(node), Some(mode), ProbeDestination::Fault(_)) = (node, mode, destination) {
        let message = "this listener only accepts TLS";
        let place = node.label_at(mode.span(), message);
        treatment.because.push(Reason::written(place));
    }
    if let Some(node) = node {
        let message = match (redirected, mode.and_then(NodeRef::text)) {
            (false, _) => format!("port {port} is not redirected"),
            (true, Some(mode)) => format!("VirtualNode `{}`: {mode}", node.name()),
            (true, None) => format!("VirtualNode `{}`: no TLS", node.name()),
        };
        treatment.explanation = vec![("listener", message)];
    }
    treatment
}

/// Determines the outcome of HTTPS without a client certificate. A listener with TLS completes the handshake itself,
/// and the kubelet accepts any certificate; what the application receives then is not known, and neither is the
/// reaction of an HTTP listener without TLS. `validation` requires a certificate of the client.
fn at_https(listener: NodeRef<'_>) -> ProbeDestination {
    let tls = listener.get("tls");
    let mode = tls.and_then(|tls| tls.get("mode")?.text());
    let requires_client_certificate = tls.is_some_and(|tls| tls.get("validation").is_some());
    let protocol = listener
        .get("portMapping")
        .and_then(|mapping| mapping.get("protocol")?.text());
    match (mode, protocol) {
        (Some("STRICT"), _) if requires_client_certificate => {
            ProbeDestination::Fault(&faults::PLAIN_AT_STRICT)
        }
        (None | Some("DISABLED"), Some("tcp")) => ProbeDestination::Application,
        _ => ProbeDestination::Unknown,
    }
}

/// Label of Namespaces and annotation of pods that switches injection on or off.
pub const INJECT: &str = "appmesh.k8s.aws/sidecarInjectorWebhook";
/// Annotation of pods with the ports that are redirected, instead of the ports of the listeners.
pub(crate) const PORTS: &str = "appmesh.k8s.aws/ports";
/// The name of the proxy container.
pub(crate) const ENVOY: &str = "envoy";

pub(super) static KEYS: &[KnownKey] = known_keys! {
    INJECT, Labels of Namespace, &["enabled", "disabled"], [],
        "Switches the injection of the proxy into the pods of the namespace on or off.";
    INJECT, Annotations of Pod, &["enabled", "disabled"], [],
        "Switches the injection of the proxy on or off.";
    PORTS, Annotations of Pod, &[], [],
        "Lists the ports that are redirected to the proxy, instead of the ports of its listeners.";
};

/// The ways in which App Mesh breaks a handler.
pub mod faults {
    crate::mesh::fault::faults! {
        /// The listener of the port only accepts TLS, or requires a certificate of the client.
        PLAIN_AT_STRICT: Fails at Proxy, "the listener of the port only accepts TLS of the mesh";
    }
}
