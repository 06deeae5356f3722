//! AWS App Mesh: probes are left alone and meet the listeners of a `VirtualNode`.
//!
//! Sources: the controller of App Mesh, `pkg/inject` (`sidecar_utils.go`: who is injected;
//! `proxy.go`: which ports are redirected) and `docs/guide/troubleshooting.md`; the API reference of AWS App
//! Mesh, `ListenerTls` (STRICT takes TLS alone, `validation` is about the client's certificate).
//! Nothing was run.

use crate::finding::Certainty;
use crate::kube::{Action, Object, Requirements, Workload, integer};
use crate::source::placeholder;
use crate::yaml::NodeRef;

use super::other::{
    Asked, Each, Meets, Membership, Model, Shape, Treatment, Trouble, port_of, release_of,
};
use super::{Fact, Mesh, Reason, Version};

/// Label of Namespaces and annotation of pods that switches the injection.
pub(crate) const INJECT: &str = "appmesh.k8s.aws/sidecarInjectorWebhook";
/// Annotation of pods with the ports that are redirected, in place of those of the listeners.
pub(crate) const PORTS: &str = "appmesh.k8s.aws/ports";
/// The proxy.
pub(crate) const ENVOY: &str = "envoy";

const SETTLE: &str = "--assume injection=all|none";

/// App Mesh.
#[derive(Debug)]
pub(crate) struct AppMesh;

impl Model for AppMesh {
    fn release(&self, given: Option<Version>) -> Fact<Option<Version>> {
        release_of(Mesh::AppMesh, given, "the release is the latest")
    }

    fn own_containers(&self) -> &'static [&'static str] {
        &[ENVOY, "proxyinit"]
    }

    fn membership(&self, asked: &Asked<'_, '_>) -> Fact<Membership> {
        let object = &asked.workload.object;
        let template = &asked.workload.template;
        let containers = template.containers();
        let own = containers.iter().find(|one| one.name() == ENVOY);
        if let Some(name) = own.and_then(|one| one.node.get("name")) {
            let said = "the manifest carries the proxy of App Mesh";
            return Fact::known(Membership::Brought, object.label_at(name.span(), said));
        }
        let switch = template.annotation(INJECT);
        if let Some(entry) = &switch {
            let text = entry.value.text().unwrap_or_default();
            if placeholder::contains(text) {
                let said = "this decides about injection, and another tool fills it in";
                let place = object.label_at(entry.value.span(), said);
                return Fact {
                    certainty: Certainty::Unknown,
                    ..Fact::known(Membership::Unknown, place)
                };
            }
            if text.eq_ignore_ascii_case("disabled") {
                let said = "injection is switched off here";
                let place = object.label_at(entry.value.span(), said);
                return Fact::known(Membership::Outside, place);
            }
        }
        let asks = by_namespace(asked);
        if asks.value != Membership::Injected || node(asked).is_some() {
            return asks;
        }
        let said = "no VirtualNode of the tree selects the pod: nobody can tell about injection";
        Fact::unknown(Membership::Unknown, said, Some(SETTLE))
    }

    fn treat(
        &self,
        asked: &Asked<'_, '_>,
        membership: Membership,
        handlers: &[Each<'_>],
    ) -> Vec<Treatment> {
        let takes_part = matches!(membership, Membership::Injected | Membership::Brought);
        let node = node(asked);
        let each = handlers.iter();
        each.map(|one| {
            let action = one.1.action.as_ref().ok();
            let number = port_of(one);
            match (action, number) {
                (Some(action), Some(number)) if takes_part => judge(asked, node, action, number),
                _ => Treatment::left(number, Meets::Nothing),
            }
        })
        .collect()
    }

    fn shape(&self) -> Shape {
        Shape::unchanged(Version::new(1, 0), "App Mesh changes no probes")
    }

    fn port_owner(&self, port: i64) -> Option<&'static str> {
        match port {
            15000 => Some("inbound traffic"),
            15001 => Some("outbound traffic"),
            _ => None,
        }
    }
}

/// The webhook sees Namespaces with its label alone.
fn by_namespace(asked: &Asked<'_, '_>) -> Fact<Membership> {
    if let Some(supposed) = &asked.supposed {
        return supposed.clone().map(|on| match on {
            true => Membership::Injected,
            false => Membership::Outside,
        });
    }
    let Some(namespace) = asked.namespace else {
        let said = format!(
            "Namespace `{}` is not in the tree; it is taken for one that App Mesh injects",
            asked.namespace_name
        );
        return match node(asked) {
            Some(node) => Fact::assumed(Membership::Injected, said, Some(SETTLE)).preceded_by(
                Reason::written(
                    node.label_at(node.name_span(), "this VirtualNode selects the pod"),
                ),
            ),
            None => Fact::unknown(
                Membership::Unknown,
                format!(
                    "no Namespace manifest `{}` in scope: nobody can tell about injection",
                    asked.namespace_name
                ),
                Some(SETTLE),
            ),
        };
    };
    let entry = namespace.label(INJECT);
    let entry = entry.filter(|entry| entry.value.text() == Some("enabled"));
    match entry {
        Some(entry) => {
            let place = namespace.label_at(entry.value.span(), "injection is on");
            Fact::known(Membership::Injected, place)
        }
        None => {
            let said = format!("Namespace `{}` does not say `{INJECT}`", namespace.name());
            let place = namespace.label_at(namespace.name_span(), said);
            Fact::known(Membership::Outside, place)
        }
    }
}

/// The `VirtualNode` of a pod: the first one that selects it.
fn node<'a, 't>(asked: &Asked<'a, 't>) -> Option<&'a Object<'t>> {
    let nodes = asked.objects.iter().copied();
    let mut nodes = nodes.filter(|one| one.kind == "VirtualNode");
    nodes.find(|node| selects(node, asked.workload))
}

/// An empty selector selects all pods, a missing one none.
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

fn listeners<'t>(node: &Object<'t>) -> Vec<(i64, NodeRef<'t>)> {
    let listeners = node.node.get("spec").and_then(|spec| spec.get("listeners"));
    let listeners = listeners.into_iter().flat_map(NodeRef::items);
    listeners
        .filter_map(|one| Some((integer(one.get("portMapping")?.get("port")?)?, one)))
        .collect()
}

fn judge(
    asked: &Asked<'_, '_>,
    node: Option<&Object<'_>>,
    action: &Action,
    port: i64,
) -> Treatment {
    let written = asked.workload.template.annotation(PORTS);
    let written = written.and_then(|entry| entry.value.text());
    let all = node.map(listeners).unwrap_or_default();
    let redirected = match written {
        Some(text) => text
            .split(',')
            .any(|one| one.trim().parse::<i64>() == Ok(port)),
        None if node.is_none() => return Treatment::left(Some(port), Meets::Unknown),
        None => all.iter().any(|(one, _)| *one == port),
    };
    let listener = all.iter().find(|(one, _)| *one == port);
    let mode = listener.and_then(|(_, one)| one.get("tls")?.get("mode"));
    let meets = match (action, listener) {
        _ if !redirected => Meets::Direct,
        _ if action.host().is_some() => Meets::Elsewhere,
        (Action::TcpSocket { .. }, _) => Meets::Accepted,
        (_, None) => Meets::Unknown,
        (Action::HttpGet(http), Some((_, listener))) if http.scheme == "HTTPS" => {
            at_https(*listener)
        }
        _ if mode.and_then(NodeRef::text) == Some("STRICT") => {
            Meets::Trouble(Trouble::PlainAtStrict)
        }
        _ => Meets::Application,
    };
    let mut treatment = Treatment::left(Some(port), meets);
    if let (Some(node), Some(mode), Meets::Trouble(_)) = (node, mode, meets) {
        let said = "this listener accepts TLS alone";
        let place = node.label_at(mode.span(), said);
        treatment.because.push(Reason::written(place));
    }
    if let Some(node) = node {
        let said = match (redirected, mode.and_then(NodeRef::text)) {
            (false, _) => format!("port {port} is not redirected"),
            (true, Some(mode)) => format!("VirtualNode `{}`: {mode}", node.name()),
            (true, None) => format!("VirtualNode `{}`: no TLS", node.name()),
        };
        treatment.trail = vec![("listener", said)];
    }
    treatment
}

/// HTTPS without a certificate of the client. With TLS the listener answers the handshake itself, and the
/// kubelet takes any certificate; what the application gets then is not known, nor what a listener
/// for HTTP without TLS does. `validation` asks for a certificate of the client.
fn at_https(listener: NodeRef<'_>) -> Meets {
    let tls = listener.get("tls");
    let mode = tls.and_then(|tls| tls.get("mode")?.text());
    let asks_client = tls.is_some_and(|tls| tls.get("validation").is_some());
    let protocol = listener
        .get("portMapping")
        .and_then(|one| one.get("protocol")?.text());
    match (mode, protocol) {
        (Some("STRICT"), _) if asks_client => Meets::Trouble(Trouble::PlainAtStrict),
        (None | Some("DISABLED"), Some("tcp")) => Meets::Application,
        _ => Meets::Unknown,
    }
}
