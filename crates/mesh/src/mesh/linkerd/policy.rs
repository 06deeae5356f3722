//! The policy of a port in the proxy: the default policy, or the `Server` of the port with its
//! routes and authorizations.
//!
//! Sources: `policy-controller/k8s/index/src/inbound/index.rs` of linkerd2 (which authorizations apply
//! to a `Server` and to a route, and what each requires), `server_authorization.rs` and
//! `workload.rs` next to it (clients, the values of the default policy, ports that require an
//! identity), `policy-controller/grpc/src/inbound.rs` (an authorization without networks); the
//! documentation, "Authorization Policy" (2.11 to 2.19): the names of the fields, the precedence
//! of routes.
//!
//! The ports that a pod lists or declares.
//!
//! Routes of a `Server`, and the requests that they match.
//!
//! Source: the documentation of Linkerd, "Authorization Policy" (one route handles a request, chosen
//! by the precedence of the Gateway API), and that of the Gateway API, `HTTPRouteRule`.

use meshprobe_tree::source::placeholder;
use meshprobe_yaml::NodeRef;

use super::keys::{DEFAULT_POLICY, PROXY, REQUIRE_IDENTITY};
use crate::finding::Certainty;
use crate::kube::{ContainerList, Object, Port, ProbeHandler, Requirements, Slot, integer};
use crate::mesh::model::{HandlerRef, PodInput, ProbeTreatment};
use crate::mesh::{Reason, Version};

/// The first release whose documentation has `Server.spec.accessPolicy`; in earlier ones, a `Server` denies
/// everything that is not authorized.
const ACCESS_POLICY: Version = Version::new(2, 16);

/// The first release in which a `Server` finds the port names of init containers (edge-25.6.3, linkerd2#14144).
const NAMES_OF_INIT: Version = Version::new(2, 19);

/// Whether the proxy accepts clients without a certificate of the mesh, such as the kubelet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Grant {
    /// It rejects them.
    Refused,
    /// It accepts some, and the kubelet is assumed to be one of them.
    Assumed,
    /// It accepts all.
    Open,
}

/// The policy of one port of a pod.
pub(super) struct Access<'a, 't> {
    /// The clients that the port as a whole accepts: by the policy, or by an authorization for it.
    pub(super) grant: Grant,
    /// The `Server` of the port declares its traffic as opaque.
    pub(super) is_opaque: bool,
    /// The `Server` of the port declares its traffic as HTTP/2, which no `httpGet` uses.
    pub(super) is_http2: bool,
    /// The routes of its `Server`.
    pub(super) routes: Vec<&'a Object<'t>>,
    /// Whether its `Server` has routes for gRPC.
    pub(super) has_grpc_routes: bool,
    objects: &'a [&'a Object<'t>],
    because: Vec<Reason>,
    is_default: bool,
}

impl<'a, 't> Access<'a, 't> {
    pub(super) fn at(input: &'a PodInput<'a, 't>, port: i64) -> Self {
        let mut access = Self {
            grant: Grant::Refused,
            is_opaque: false,
            is_http2: false,
            routes: Vec::new(),
            has_grpc_routes: false,
            objects: &input.objects,
            because: Vec::new(),
            is_default: false,
        };
        let mut servers = access.of_kind("Server");
        match servers.find(|server| is_server_of(server, input, port)) {
            Some(server) => access.by_server(input, server),
            None => access.by_default(input, port),
        }
        access
    }

    fn of_kind(&self, kind: &'static str) -> impl Iterator<Item = &'a Object<'t>> + use<'a, 't> {
        self.objects
            .iter()
            .copied()
            .filter(move |object| object.kind == kind)
    }

    fn by_server(&mut self, input: &PodInput<'_, '_>, server: &'a Object<'t>) {
        let field = |key: &str| server.node.get("spec")?.get(key)?.text();
        self.is_opaque = matches!(field("proxyProtocol"), Some("opaque" | "TLS"));
        self.is_http2 = matches!(field("proxyProtocol"), Some("HTTP/2" | "gRPC"));
        let routes = self.of_kind("HTTPRoute");
        self.routes = routes.filter(|route| is_route_of(route, server)).collect();
        let mut grpc = self.of_kind("GRPCRoute");
        self.has_grpc_routes = grpc.any(|route| is_route_of(route, server));
        let message = format!(
            "Server `{}` decides which clients may connect to the port",
            server.name()
        );
        let place = server.label_at(server.name_span(), message);
        self.because.push(Reason::written(place));
        let knows_policy = input.release.is_none_or(|release| release >= ACCESS_POLICY);
        if let Some(policy) = field("accessPolicy").filter(|_| knows_policy) {
            let span = server
                .node
                .get("spec")
                .and_then(|spec| spec.get("accessPolicy"));
            let span = span.map_or_else(|| server.name_span(), NodeRef::span);
            let (grant, message) = by_word(policy);
            self.grant = grant;
            self.because
                .push(Reason::written(server.label_at(span, message)));
        }
        self.authorizations(server);
        self.because.extend(self.routes.iter().map(|route| {
            let message = format!(
                "because of HTTPRoute `{}` of the Server, Linkerd creates no route for the probe",
                route.name()
            );
            Reason::written(route.label_at(route.name_span(), message))
        }));
    }

    /// Adds the authorization for the whole `Server` that accepts most clients.
    fn authorizations(&mut self, server: &Object<'_>) {
        let policies = self
            .of_kind("AuthorizationPolicy")
            .filter(|policy| targets(policy, "Server", server.name()) || targets_namespace(policy))
            .map(|policy| (self.grant_of(policy), policy));
        let others = self
            .of_kind("ServerAuthorization")
            .filter(|authorization| is_authorization_of(authorization, server))
            .map(|authorization| (grant_of_client(authorization), authorization));
        let best = policies.chain(others).max_by_key(|(grant, _)| *grant);
        if let Some((grant, policy)) = best.filter(|(grant, _)| *grant > self.grant) {
            self.grant = grant;
            self.because.push(admitted_by(policy, grant));
        }
    }

    fn by_default(&mut self, input: &PodInput<'a, 't>, port: i64) {
        let own = input
            .workload
            .template
            .annotation(DEFAULT_POLICY)
            .map(|entry| (&input.workload.object, entry));
        let outer = || {
            let namespace = input.namespace?;
            Some((namespace, namespace.annotation(DEFAULT_POLICY)?))
        };
        match own.or_else(outer) {
            Some((object, entry)) => {
                let (grant, message) = by_word(entry.value.text().unwrap_or_default());
                self.grant = grant;
                let place = object.label_at(entry.value.span(), message);
                self.because.push(Reason::written(place));
            }
            None => {
                self.grant = Grant::Open;
                let message = "Linkerd accepts all clients by default";
                self.because.push(Reason::without_place(message, None));
                self.is_default = true;
            }
        }
        if is_listed(input, REQUIRE_IDENTITY, port) {
            self.grant = Grant::Refused;
            self.is_default = false;
            let message =
                format!("`{REQUIRE_IDENTITY}` rejects clients without an identity on this port");
            self.because.push(Reason::without_place(message, None));
        }
    }

    /// Decides by the routes of the `Server` whether a request for this path is accepted; the route
    /// that matches best handles it.
    pub(super) fn by_routes(&self, path: &str) -> (Grant, Option<Reason>) {
        let matching = self
            .routes
            .iter()
            .copied()
            .filter_map(|route| Some((fit(route, path)?, route)));
        let Some((fit, route)) = matching.max_by_key(|(fit, _)| fit.rank) else {
            return (Grant::Refused, None);
        };
        let policies = self.of_kind("AuthorizationPolicy");
        let best = policies
            .filter(|policy| targets(policy, "HTTPRoute", route.name()))
            .map(|policy| (self.grant_of(policy), policy))
            .max_by_key(|(grant, _)| *grant);
        let own = best.filter(|(grant, _)| *grant > self.grant);
        let (grant, reason) = match own {
            Some((grant, policy)) => (grant, Some(admitted_by(policy, grant))),
            None => (self.grant, None),
        };
        if grant == Grant::Open && !fit.is_sure {
            let message = format!("HTTPRoute `{}` is assumed to match the probe", route.name());
            let place = route.label_at(route.name_span(), message);
            return (Grant::Assumed, Some(Reason::written(place)));
        }
        (grant, reason)
    }

    /// Returns which clients an `AuthorizationPolicy` accepts. If it requires a certificate, it accepts no client
    /// without one; if it requires nothing, it accepts all; if it requires a network, it accepts the clients of that
    /// network. A policy with several networks has no effect (`inbound/index.rs`, `policy_client_authz`).
    fn grant_of(&self, policy: &Object<'_>) -> Grant {
        let spec = policy.node.get("spec");
        let references: Vec<NodeRef<'_>> = spec
            .and_then(|spec| spec.get("requiredAuthenticationRefs"))
            .into_iter()
            .flat_map(NodeRef::items)
            .collect();
        let is_network = |reference: &NodeRef<'_>| is_kind(*reference, "NetworkAuthentication");
        match references.as_slice() {
            [] => Grant::Open,
            [reference] if is_network(reference) => self.grant_of_network(*reference),
            _ => Grant::Refused,
        }
    }

    fn grant_of_network(&self, reference: NodeRef<'_>) -> Grant {
        let field = |key: &str| reference.get(key).and_then(NodeRef::text);
        if field("namespace").is_some() {
            return Grant::Assumed;
        }
        let network = self
            .of_kind("NetworkAuthentication")
            .find(|network| Some(network.name()) == field("name"));
        let networks = network.and_then(|network| network.node.get("spec")?.get("networks"));
        match networks {
            Some(networks) if holds_all(networks) => Grant::Open,
            _ => Grant::Assumed,
        }
    }

    /// Adds the deciding reasons to a treatment.
    pub(super) fn explain(&self, treatment: &mut ProbeTreatment) {
        treatment.because.extend(self.because.iter().cloned());
        let lines = self
            .because
            .iter()
            .map(|reason| ("policy", reason.message.clone()));
        treatment.explanation.extend(lines);
        if self.is_default {
            treatment.limit_certainty(Certainty::Default);
        }
    }
}

/// Returns which clients a default policy accepts, and a message. If Linkerd does not know the value,
/// the policy of the installation applies (`inbound/workload.rs`, `from_metadata`).
fn by_word(policy: &str) -> (Grant, &'static str) {
    match policy {
        _ if placeholder::contains(policy) => (
            Grant::Assumed,
            "the policy is a placeholder, and is assumed to accept all clients",
        ),
        "all-unauthenticated" | "audit" => (Grant::Open, "this policy accepts all clients"),
        "cluster-unauthenticated" => (
            Grant::Assumed,
            "this policy accepts the networks of the cluster, which are assumed to contain the \
             nodes",
        ),
        "deny" | "all-authenticated" | "cluster-authenticated" => (
            Grant::Refused,
            "this policy rejects clients without a certificate of the mesh",
        ),
        _ => (
            Grant::Assumed,
            "Linkerd does not know this policy; that of its installation is assumed to accept all \
             clients",
        ),
    }
}

/// Returns a reason that names an authorization for clients without a certificate.
fn admitted_by(policy: &Object<'_>, grant: Grant) -> Reason {
    let message = match grant {
        Grant::Assumed => "accepts clients of its networks, which are assumed to contain the nodes",
        _ => "accepts clients without a certificate",
    };
    Reason::written(policy.label_at(policy.name_span(), message))
}

/// Returns which clients a `ServerAuthorization` accepts; without networks it applies to all of them
/// (`policy-controller/grpc/src/inbound.rs`, `to_authz`).
fn grant_of_client(policy: &Object<'_>) -> Grant {
    let client = policy.node.get("spec").and_then(|spec| spec.get("client"));
    let field = |key: &str| client.and_then(|client| client.get(key));
    if field("unauthenticated").and_then(NodeRef::text) != Some("true") {
        return Grant::Refused;
    }
    match field("networks") {
        Some(networks) if networks.items().len() > 0 && !holds_all(networks) => Grant::Assumed,
        _ => Grant::Open,
    }
}

/// Returns whether one of the networks is the whole of IPv4.
fn holds_all(networks: NodeRef<'_>) -> bool {
    networks.items().any(|network| {
        let excepts = network
            .get("except")
            .is_some_and(|all| all.items().len() > 0);
        network.get("cidr").and_then(NodeRef::text) == Some("0.0.0.0/0") && !excepts
    })
}

/// Returns whether a `Server` applies to this port of the pod; without `podSelector` it applies to machines.
fn is_server_of(server: &Object<'_>, input: &PodInput<'_, '_>, port: i64) -> bool {
    let template = &input.workload.template;
    let Some(spec) = server.node.get("spec") else {
        return false;
    };
    let selects = spec.get("podSelector").is_some_and(|selector| {
        Requirements::parse(Some(selector)).matches(|label| template.label(label)?.value.text())
    });
    let is_port = |node: NodeRef<'_>| match integer(node) {
        Some(number) => number == port,
        None => {
            let knows_init = input.release.is_none_or(|release| release >= NAMES_OF_INIT);
            let containers = template.containers();
            containers
                .iter()
                .filter(|container| knows_init || container.list != ContainerList::Init)
                .flat_map(|container| container.ports())
                .any(|declared| {
                    declared.name.is_some()
                        && declared.name == node.text()
                        && declared.number == Some(port)
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
    written.is_some_and(|written| written.eq_ignore_ascii_case(kind))
}

fn targets(policy: &Object<'_>, kind: &str, name: &str) -> bool {
    target(policy).is_some_and(|target| {
        is_kind(target, kind) && target.get("name").and_then(NodeRef::text) == Some(name)
    })
}

fn targets_namespace(policy: &Object<'_>) -> bool {
    target(policy).is_some_and(|target| is_kind(target, "Namespace"))
}

/// Returns whether a `ServerAuthorization` applies to a `Server`.
fn is_authorization_of(authorization: &Object<'_>, server: &Object<'_>) -> bool {
    let Some(spec) = authorization.node.get("spec") else {
        return false;
    };
    let Some(server_reference) = spec.get("server") else {
        return false;
    };
    let is_named = server_reference.get("name").and_then(NodeRef::text) == Some(server.name());
    let is_selected = || {
        let selector = server_reference.get("selector");
        selector.is_some()
            && Requirements::parse(selector).matches(|label| server.label(label)?.value.text())
    };
    is_named || is_selected()
}

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

/// The group of the policies.
const GROUP: &str = "policy.linkerd.io";

/// Returns whether a route belongs to a `Server`.
pub(super) fn is_route_of(route: &Object<'_>, server: &Object<'_>) -> bool {
    parents(route).any(|parent| {
        let field = |key: &str| parent.get(key).and_then(NodeRef::text);
        field("group") == Some(GROUP)
            && field("kind") == Some("Server")
            && field("name") == Some(server.name())
    })
}

fn parents<'t>(route: &Object<'t>) -> impl Iterator<Item = NodeRef<'t>> + use<'t> {
    let spec = route.node.get("spec");
    let parents = spec.and_then(|spec| spec.get("parentRefs"));
    parents.into_iter().flat_map(NodeRef::items)
}

/// How a route matches a request; of several routes that match, the one with the highest rank handles it.
pub(super) struct Fit {
    /// An exact path before a prefix, a long one before a short one, regular expressions last.
    pub(super) rank: (u8, usize),
    /// Whether all conditions are known to match.
    pub(super) is_sure: bool,
}

/// Returns how a route matches GET requests for a path, if it does; a route without matches handles all requests.
/// Regular expressions, headers and queries are assumed to match.
pub(super) fn fit(route: &Object<'_>, path: &str) -> Option<Fit> {
    let path = path.split('?').next().unwrap_or_default();
    let all = Fit {
        rank: (1, 0),
        is_sure: true,
    };
    let Some(rules) = route.node.get("spec").and_then(|spec| spec.get("rules")) else {
        return Some(all);
    };
    rules
        .items()
        .flat_map(|rule| {
            let matches: Vec<NodeRef<'_>> = rule
                .get("matches")
                .into_iter()
                .flat_map(NodeRef::items)
                .collect();
            if matches.is_empty() {
                return vec![Fit {
                    rank: (1, 0),
                    is_sure: true,
                }];
            }
            matches
                .into_iter()
                .filter_map(|match_rule| fit_of_match(match_rule, path))
                .collect()
        })
        .max_by_key(|fit| fit.rank)
}

fn fit_of_match(match_rule: NodeRef<'_>, path: &str) -> Option<Fit> {
    let method = match_rule.get("method").and_then(NodeRef::text);
    if method.is_some_and(|method| method != "GET") {
        return None;
    }
    let is_plain = !["headers", "queryParams"]
        .into_iter()
        .filter_map(|key| match_rule.get(key))
        .any(|conditions| conditions.items().len() > 0);
    let (rank, is_sure) = fit_of_path(match_rule.get("path"), path)?;
    Some(Fit {
        rank,
        is_sure: is_sure && is_plain,
    })
}

fn fit_of_path(wanted: Option<NodeRef<'_>>, path: &str) -> Option<((u8, usize), bool)> {
    let Some(wanted) = wanted else {
        return Some(((1, 0), true));
    };
    let value = wanted.get("value").and_then(NodeRef::text).unwrap_or("/");
    match wanted.get("type").and_then(NodeRef::text) {
        Some("Exact") => (value == path).then_some(((2, value.len()), true)),
        Some("RegularExpression") => Some(((0, 0), false)),
        _ => {
            let prefix = value.trim_end_matches('/');
            let rest = path.strip_prefix(prefix)?;
            let fits = rest.is_empty() || rest.starts_with('/');
            fits.then_some(((1, prefix.len()), true))
        }
    }
}
