//! Whom the proxy lets in at a port: the default policy, or the `Server` of the port with its
//! routes and authorizations.

use crate::kube::{Action, Object, Port, Requirements, Slot, integer};
use crate::mesh::Reason;
use crate::mesh::other::{Asked, Each, Treatment};
use crate::source::placeholder;
use crate::yaml::NodeRef;

use super::{DEFAULT_POLICY, PROXY};

/// The group of the policies.
const GROUP: &str = "policy.linkerd.io";

/// What holds at one port of a pod.
pub(super) struct Access<'a, 't> {
    /// Clients without a certificate of the mesh are turned away.
    pub(super) is_closed: bool,
    /// An authorization for the whole port lets them in all the same.
    pub(super) admits_nodes: bool,
    /// The `Server` of the port says that its traffic is not looked into.
    pub(super) is_opaque: bool,
    /// The routes of its `Server`.
    pub(super) routes: Vec<&'a Object<'t>>,
    objects: &'a [&'a Object<'t>],
    because: Vec<Reason>,
    is_default: bool,
    is_assumed: bool,
}

impl<'a, 't> Access<'a, 't> {
    pub(super) fn at(asked: &'a Asked<'a, 't>, port: i64) -> Self {
        let mut access = Self {
            is_closed: false,
            admits_nodes: false,
            is_opaque: false,
            routes: Vec::new(),
            objects: &asked.objects,
            because: Vec::new(),
            is_default: false,
            is_assumed: false,
        };
        let mut servers = access.of_kind("Server");
        match servers.find(|server| is_server_of(server, asked, port)) {
            Some(server) => access.by_server(server),
            None => access.by_default(asked),
        }
        access
    }

    fn of_kind(&self, kind: &'static str) -> impl Iterator<Item = &'a Object<'t>> + use<'a, 't> {
        let all = self.objects.iter().copied();
        all.filter(move |one| one.kind == kind)
    }

    fn by_server(&mut self, server: &'a Object<'t>) {
        let field = |key: &str| server.node.get("spec")?.get(key)?.text();
        self.is_closed = field("accessPolicy").is_none_or(closes);
        self.is_opaque = field("proxyProtocol") == Some("opaque");
        let routes = self.of_kind("HTTPRoute");
        self.routes = routes.filter(|one| is_route_of(one, server)).collect();
        let admits = |one: &Object<'_>| {
            (targets(one, "Server", server.name()) || targets_namespace(one)) && lets_in(one)
        };
        self.admits_nodes = self.of_kind("AuthorizationPolicy").any(admits)
            || self
                .of_kind("ServerAuthorization")
                .any(|one| is_authorization_of(one, server));
        let said = format!(
            "Server `{}` decides who is let in at the port",
            server.name()
        );
        let place = server.label_at(server.name_span(), said);
        self.because.push(Reason::written(place));
        self.because.extend(self.routes.iter().map(|route| {
            let said = format!(
                "with HTTPRoute `{}` at the Server the probe gets no route of its own",
                route.name()
            );
            Reason::written(route.label_at(route.name_span(), said))
        }));
    }

    fn by_default(&mut self, asked: &Asked<'a, 't>) {
        let own = asked.workload.template.annotation(DEFAULT_POLICY);
        let own = own.map(|entry| (&asked.workload.object, entry));
        let outer = || {
            let namespace = asked.namespace?;
            Some((namespace, namespace.annotation(DEFAULT_POLICY)?))
        };
        let Some((object, entry)) = own.or_else(outer) else {
            let said = "Linkerd lets everybody in by default";
            self.because.push(Reason::said(said, None));
            self.is_default = true;
            return;
        };
        let text = entry.value.text().unwrap_or_default();
        let said = match text {
            _ if placeholder::contains(text) => {
                self.is_assumed = true;
                "another tool fills in the policy; it is taken for one that lets everybody in"
            }
            "cluster-unauthenticated" => {
                self.is_assumed = true;
                "lets in the networks of the cluster, which are taken to hold the nodes"
            }
            text if closes(text) => {
                self.is_closed = true;
                "this policy turns away clients without a certificate of the mesh"
            }
            _ => "this policy lets everybody in",
        };
        let place = object.label_at(entry.value.span(), said);
        self.because.push(Reason::written(place));
    }

    /// Tells whether one of the routes takes this path and lets the kubelet in.
    pub(super) fn serves(&self, path: &str) -> bool {
        let fitting = self.routes.iter().filter(|route| takes(route, path));
        let mut fitting = fitting.map(|route| route.name());
        fitting.any(|name| {
            let admits = |one: &Object<'_>| targets(one, "HTTPRoute", name) && lets_in(one);
            !self.is_closed || self.admits_nodes || self.of_kind("AuthorizationPolicy").any(admits)
        })
    }

    /// Adds what decided to a treatment.
    pub(super) fn explain(&self, treatment: &mut Treatment) {
        treatment.because.extend(self.because.iter().cloned());
        let lines = self
            .because
            .iter()
            .map(|one| ("policy", one.message.clone()));
        treatment.trail.extend(lines);
        treatment.is_assumed |= self.is_assumed;
        treatment.by_release |= self.is_default;
    }
}

fn closes(policy: &str) -> bool {
    policy == "deny" || policy.ends_with("-authenticated")
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

fn is_route_of(route: &Object<'_>, server: &Object<'_>) -> bool {
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

/// Tells whether a route takes requests for a path; one without matches takes all. Matches by
/// expression are taken to fit.
fn takes(route: &Object<'_>, path: &str) -> bool {
    let path = path.split('?').next().unwrap_or_default();
    let items = |node: Option<NodeRef<'_>>| node.is_some_and(|one| one.items().next().is_some());
    let Some(rules) = route.node.get("spec").and_then(|spec| spec.get("rules")) else {
        return true;
    };
    rules.items().any(|rule| {
        let matches = rule.get("matches");
        !items(matches)
            || matches.into_iter().flat_map(NodeRef::items).any(|one| {
                let method = one.get("method").and_then(NodeRef::text);
                method.is_none_or(|method| method == "GET") && fits(one.get("path"), path)
            })
    })
}

fn fits(wanted: Option<NodeRef<'_>>, path: &str) -> bool {
    let Some(wanted) = wanted else { return true };
    let value = wanted.get("value").and_then(NodeRef::text).unwrap_or("/");
    match wanted.get("type").and_then(NodeRef::text) {
        Some("Exact") => value == path,
        Some("RegularExpression") => true,
        _ => {
            let prefix = value.trim_end_matches('/');
            let rest = path.strip_prefix(prefix);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        }
    }
}

fn targets(policy: &Object<'_>, kind: &str, name: &str) -> bool {
    let target = policy
        .node
        .get("spec")
        .and_then(|spec| spec.get("targetRef"));
    target.is_some_and(|target| {
        let field = |key: &str| target.get(key).and_then(NodeRef::text);
        field("kind") == Some(kind) && field("name") == Some(name)
    })
}

fn targets_namespace(policy: &Object<'_>) -> bool {
    let target = policy
        .node
        .get("spec")
        .and_then(|spec| spec.get("targetRef"));
    let kind = target.and_then(|target| target.get("kind"));
    kind.and_then(NodeRef::text) == Some("Namespace")
}

/// Tells whether an `AuthorizationPolicy` asks for no certificate: it names networks alone, which
/// are taken to hold the nodes.
fn lets_in(policy: &Object<'_>) -> bool {
    let spec = policy.node.get("spec");
    let asked = spec.and_then(|spec| spec.get("requiredAuthenticationRefs"));
    asked.into_iter().flat_map(NodeRef::items).all(|one| {
        let kind = one.get("kind").and_then(NodeRef::text);
        kind == Some("NetworkAuthentication")
    })
}

/// Tells whether a `ServerAuthorization` lets everybody in at a `Server`.
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
    let client = spec
        .get("client")
        .and_then(|one| one.get("unauthenticated"));
    (is_named || is_selected()) && client.and_then(NodeRef::text) == Some("true")
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
