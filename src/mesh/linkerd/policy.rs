//! Whom the proxy lets in at a port: the default policy, or the `Server` of the port with its
//! routes and authorizations.
//!
//! Sources: `policy-controller/k8s/index/src/inbound/index.rs` of linkerd2 (which authorizations hold
//! at a `Server` and at a route, and what each asks for), `server_authorization.rs` and
//! `workload.rs` beside it (clients, the words of the default policy, ports that demand an
//! identity), `policy-controller/grpc/src/inbound.rs` (an authorization without networks); the
//! documentation, "Authorization Policy" (2.11 to 2.19): what the fields are called, the precedence
//! of routes.

use crate::finding::Certainty;
use crate::kube::{Action, Object, Port, Requirements, Slot, integer};
use crate::mesh::Reason;
use crate::mesh::other::{Asked, Each, Treatment};
use crate::source::placeholder;
use crate::yaml::NodeRef;

use super::route::{fit, is_route_of};
use super::{DEFAULT_POLICY, PROXY, REQUIRE_IDENTITY, Version};

/// The first release whose documentation has `Server.spec.accessPolicy`; before it a `Server` denies
/// what is not authorized.
const ACCESS_POLICY: Version = Version::new(2, 16);

/// Whether clients without a certificate of the mesh get in; the kubelet is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Grant {
    /// They are turned away.
    Refused,
    /// Some get in, and the kubelet is taken for one of them.
    Taken,
    /// All get in.
    Open,
}

/// What holds at one port of a pod.
pub(super) struct Access<'a, 't> {
    /// Whom the port as a whole lets in: the policy, or an authorization in front of it.
    pub(super) grant: Grant,
    /// The `Server` of the port says that its traffic is not looked into.
    pub(super) is_opaque: bool,
    /// The `Server` of the port says that its traffic is HTTP/2, which no `httpGet` speaks.
    pub(super) is_http2: bool,
    /// The routes of its `Server`.
    pub(super) routes: Vec<&'a Object<'t>>,
    /// Its `Server` has routes for gRPC.
    pub(super) has_grpc_routes: bool,
    objects: &'a [&'a Object<'t>],
    because: Vec<Reason>,
    is_default: bool,
}

impl<'a, 't> Access<'a, 't> {
    pub(super) fn at(asked: &'a Asked<'a, 't>, port: i64) -> Self {
        let mut access = Self {
            grant: Grant::Refused,
            is_opaque: false,
            is_http2: false,
            routes: Vec::new(),
            has_grpc_routes: false,
            objects: &asked.objects,
            because: Vec::new(),
            is_default: false,
        };
        let mut servers = access.of_kind("Server");
        match servers.find(|server| is_server_of(server, asked, port)) {
            Some(server) => access.by_server(asked, server),
            None => access.by_default(asked, port),
        }
        access
    }

    fn of_kind(&self, kind: &'static str) -> impl Iterator<Item = &'a Object<'t>> + use<'a, 't> {
        let all = self.objects.iter().copied();
        all.filter(move |one| one.kind == kind)
    }

    fn by_server(&mut self, asked: &Asked<'_, '_>, server: &'a Object<'t>) {
        let field = |key: &str| server.node.get("spec")?.get(key)?.text();
        self.is_opaque = matches!(field("proxyProtocol"), Some("opaque" | "TLS"));
        self.is_http2 = matches!(field("proxyProtocol"), Some("HTTP/2" | "gRPC"));
        let routes = self.of_kind("HTTPRoute");
        self.routes = routes.filter(|one| is_route_of(one, server)).collect();
        let mut grpc = self.of_kind("GRPCRoute");
        self.has_grpc_routes = grpc.any(|one| is_route_of(one, server));
        let said = format!(
            "Server `{}` decides who is let in at the port",
            server.name()
        );
        let place = server.label_at(server.name_span(), said);
        self.because.push(Reason::written(place));
        let knows_policy = asked.release.is_none_or(|one| one >= ACCESS_POLICY);
        if let Some(policy) = field("accessPolicy").filter(|_| knows_policy) {
            let span = server
                .node
                .get("spec")
                .and_then(|one| one.get("accessPolicy"));
            let span = span.map_or_else(|| server.name_span(), NodeRef::span);
            let (grant, said) = by_word(policy);
            self.grant = grant;
            self.because
                .push(Reason::written(server.label_at(span, said)));
        }
        self.authorizations(server);
        self.because.extend(self.routes.iter().map(|route| {
            let said = format!(
                "with HTTPRoute `{}` at the Server the probe gets no route of its own",
                route.name()
            );
            Reason::written(route.label_at(route.name_span(), said))
        }));
    }

    /// Adds the authorization for the whole `Server` that lets in most.
    fn authorizations(&mut self, server: &Object<'_>) {
        let policies = self.of_kind("AuthorizationPolicy");
        let policies = policies
            .filter(|one| targets(one, "Server", server.name()) || targets_namespace(one))
            .map(|one| (self.grant_of(one), one));
        let others = self.of_kind("ServerAuthorization");
        let others = others
            .filter(|one| is_authorization_of(one, server))
            .map(|one| (grant_of_client(one), one));
        let best = policies.chain(others).max_by_key(|(grant, _)| *grant);
        if let Some((grant, policy)) = best.filter(|(grant, _)| *grant > self.grant) {
            self.grant = grant;
            self.because.push(admitted_by(policy, grant));
        }
    }

    fn by_default(&mut self, asked: &Asked<'a, 't>, port: i64) {
        let own = asked.workload.template.annotation(DEFAULT_POLICY);
        let own = own.map(|entry| (&asked.workload.object, entry));
        let outer = || {
            let namespace = asked.namespace?;
            Some((namespace, namespace.annotation(DEFAULT_POLICY)?))
        };
        match own.or_else(outer) {
            Some((object, entry)) => {
                let (grant, said) = by_word(entry.value.text().unwrap_or_default());
                self.grant = grant;
                let place = object.label_at(entry.value.span(), said);
                self.because.push(Reason::written(place));
            }
            None => {
                self.grant = Grant::Open;
                let said = "Linkerd lets everybody in by default";
                self.because.push(Reason::said(said, None));
                self.is_default = true;
            }
        }
        if is_listed(asked, REQUIRE_IDENTITY, port) {
            self.grant = Grant::Refused;
            self.is_default = false;
            let said = format!("`{REQUIRE_IDENTITY}` closes the port to clients without one");
            self.because.push(Reason::said(said, None));
        }
    }

    /// Decides by the routes of the `Server` whether a request for this path gets in; the route
    /// that fits best takes it.
    pub(super) fn by_routes(&self, path: &str) -> (Grant, Option<Reason>) {
        let fitting = self.routes.iter().copied();
        let fitting = fitting.filter_map(|route| Some((fit(route, path)?, route)));
        let Some((fit, route)) = fitting.max_by_key(|(fit, _)| fit.rank) else {
            return (Grant::Refused, None);
        };
        let policies = self.of_kind("AuthorizationPolicy");
        let best = policies
            .filter(|one| targets(one, "HTTPRoute", route.name()))
            .map(|one| (self.grant_of(one), one))
            .max_by_key(|(grant, _)| *grant);
        let own = best.filter(|(grant, _)| *grant > self.grant);
        let (grant, reason) = match own {
            Some((grant, policy)) => (grant, Some(admitted_by(policy, grant))),
            None => (self.grant, None),
        };
        if grant == Grant::Open && !fit.is_sure {
            let said = format!("HTTPRoute `{}` is taken to fit the probe", route.name());
            let place = route.label_at(route.name_span(), said);
            return (Grant::Taken, Some(Reason::written(place)));
        }
        (grant, reason)
    }

    /// Whom an `AuthorizationPolicy` lets in: with a certificate among what it asks for nobody
    /// without one, with nothing everybody, with a network its clients. Of several networks it
    /// means nothing (`inbound/index.rs`, `policy_client_authz`).
    fn grant_of(&self, policy: &Object<'_>) -> Grant {
        let spec = policy.node.get("spec");
        let asked = spec.and_then(|spec| spec.get("requiredAuthenticationRefs"));
        let asked: Vec<NodeRef<'_>> = asked.into_iter().flat_map(NodeRef::items).collect();
        let is_network = |one: &NodeRef<'_>| is_kind(*one, "NetworkAuthentication");
        match asked.as_slice() {
            [] => Grant::Open,
            [one] if is_network(one) => self.grant_of_network(*one),
            _ => Grant::Refused,
        }
    }

    fn grant_of_network(&self, reference: NodeRef<'_>) -> Grant {
        let field = |key: &str| reference.get(key).and_then(NodeRef::text);
        if field("namespace").is_some() {
            return Grant::Taken;
        }
        let mut all = self.of_kind("NetworkAuthentication");
        let network = all.find(|one| Some(one.name()) == field("name"));
        let networks = network.and_then(|one| one.node.get("spec")?.get("networks"));
        match networks {
            Some(networks) if holds_all(networks) => Grant::Open,
            _ => Grant::Taken,
        }
    }

    /// Adds what decided to a treatment.
    pub(super) fn explain(&self, treatment: &mut Treatment) {
        treatment.because.extend(self.because.iter().cloned());
        let lines = self
            .because
            .iter()
            .map(|one| ("policy", one.message.clone()));
        treatment.trail.extend(lines);
        if self.is_default {
            treatment.no_surer_than(Certainty::Default);
        }
    }
}

/// Whom a word of the default policies lets in, and what it says. A word that Linkerd does not know
/// leaves the policy of the installation (`inbound/workload.rs`, `from_metadata`).
fn by_word(policy: &str) -> (Grant, &'static str) {
    match policy {
        _ if placeholder::contains(policy) => (
            Grant::Taken,
            "another tool fills in the policy; it is taken for one that lets everybody in",
        ),
        "all-unauthenticated" | "audit" => (Grant::Open, "this policy lets everybody in"),
        "cluster-unauthenticated" => (
            Grant::Taken,
            "lets in the networks of the cluster, which are taken to hold the nodes",
        ),
        "deny" | "all-authenticated" | "cluster-authenticated" => (
            Grant::Refused,
            "this policy turns away clients without a certificate of the mesh",
        ),
        _ => (
            Grant::Taken,
            "Linkerd knows no such policy; the one of its installation is taken to let everybody in",
        ),
    }
}

/// Names an authorization that lets clients without a certificate in.
fn admitted_by(policy: &Object<'_>, grant: Grant) -> Reason {
    let said = match grant {
        Grant::Taken => "lets in clients of its networks, which are taken to hold the nodes",
        _ => "lets in clients without a certificate",
    };
    Reason::written(policy.label_at(policy.name_span(), said))
}

/// Whom a `ServerAuthorization` lets in; without networks it is for all of them
/// (`policy-controller/grpc/src/inbound.rs`, `to_authz`).
fn grant_of_client(policy: &Object<'_>) -> Grant {
    let client = policy.node.get("spec").and_then(|one| one.get("client"));
    let field = |key: &str| client.and_then(|client| client.get(key));
    if field("unauthenticated").and_then(NodeRef::text) != Some("true") {
        return Grant::Refused;
    }
    match field("networks") {
        Some(networks) if networks.items().len() > 0 && !holds_all(networks) => Grant::Taken,
        _ => Grant::Open,
    }
}

/// Tells whether one of the networks is the whole of IPv4.
fn holds_all(networks: NodeRef<'_>) -> bool {
    networks.items().any(|one| {
        let excepts = one.get("except").is_some_and(|all| all.items().len() > 0);
        one.get("cidr").and_then(NodeRef::text) == Some("0.0.0.0/0") && !excepts
    })
}

/// Tells whether a `Server` is for this port of the pod; without `podSelector` it is for machines.
fn is_server_of(server: &Object<'_>, asked: &Asked<'_, '_>, port: i64) -> bool {
    let template = &asked.workload.template;
    let Some(spec) = server.node.get("spec") else {
        return false;
    };
    let selects = spec.get("podSelector").is_some_and(|selector| {
        Requirements::parse(Some(selector)).matches(|label| template.label(label)?.value.text())
    });
    let is_port = |node: NodeRef<'_>| match integer(node) {
        Some(number) => number == port,
        None => {
            let containers = template.containers();
            let mut ports = containers.iter().flat_map(|one| one.ports());
            ports.any(|one| {
                one.name.is_some() && one.name == node.text() && one.number == Some(port)
            })
        }
    };
    selects && spec.get("port").is_some_and(is_port)
}

fn target<'t>(policy: &Object<'t>) -> Option<NodeRef<'t>> {
    policy.node.get("spec")?.get("targetRef")
}

fn is_kind(reference: NodeRef<'_>, kind: &str) -> bool {
    let written = reference.get("kind").and_then(NodeRef::text);
    written.is_some_and(|one| one.eq_ignore_ascii_case(kind))
}

fn targets(policy: &Object<'_>, kind: &str, name: &str) -> bool {
    target(policy).is_some_and(|target| {
        is_kind(target, kind) && target.get("name").and_then(NodeRef::text) == Some(name)
    })
}

fn targets_namespace(policy: &Object<'_>) -> bool {
    target(policy).is_some_and(|target| is_kind(target, "Namespace"))
}

/// Tells whether a `ServerAuthorization` is for a `Server`.
fn is_authorization_of(one: &Object<'_>, server: &Object<'_>) -> bool {
    let Some(spec) = one.node.get("spec") else {
        return false;
    };
    let Some(of) = spec.get("server") else {
        return false;
    };
    let is_named = of.get("name").and_then(NodeRef::text) == Some(server.name());
    let is_selected = || {
        let selector = of.get("selector");
        selector.is_some()
            && Requirements::parse(selector).matches(|label| server.label(label)?.value.text())
    };
    is_named || is_selected()
}

/// Tells whether a pod or its Namespace lists a port under this annotation: numbers and ranges.
pub(super) fn is_listed(asked: &Asked<'_, '_>, key: &str, port: i64) -> bool {
    let own = asked.workload.template.annotation(key);
    let entry = own.or_else(|| asked.namespace?.annotation(key));
    let text = entry.and_then(|entry| entry.value.text());
    let mut parts = text.unwrap_or_default().split(',').map(str::trim);
    parts.any(|part| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        match (first.trim().parse::<i64>(), last.trim().parse::<i64>()) {
            (Ok(first), Ok(last)) => (first..=last).contains(&port),
            _ => false,
        }
    })
}

/// Tells whether the proxy is not told of the port of a startup probe: it hears of declared ports
/// and of the numbers in liveness and readiness probes.
pub(super) fn is_undeclared(asked: &Asked<'_, '_>, one: &Each<'_>, port: i64) -> bool {
    if one.1.slot != Slot::Startup {
        return false;
    }
    let containers = asked.workload.template.containers();
    let others = containers.iter().filter(|one| one.name() != PROXY);
    !others.into_iter().any(|container| {
        let is_declared = container.ports().any(|one| one.number == Some(port));
        is_declared
            || container.handlers().iter().any(|handler| {
                matches!(handler.slot, Slot::Liveness | Slot::Readiness)
                    && matches!(
                        &handler.action,
                        Ok(Action::HttpGet(http)) if http.port == Port::Number(port)
                    )
            })
    })
}
