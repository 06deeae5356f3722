//! Linkerd: probes stay as they are and go through its proxy, which has a policy for each port.
//!
//! Sources, linkerd2 b24cd405, read: `policy-controller/k8s/index/src/inbound/{index,workload}.rs`
//! (the routes that are made for probes; pull request 9008, since 2.12. In 2.11 probes are refused
//! like all else: issues 7050, 7143), `pkg/inject/inject.go` (the ports of a pod) and
//! `pkg/inject/report.go` (who is injected, at 0467b8dc); the documentation, "Authorization Policy". Nothing
//! was run.

mod injection;
mod policy;
mod route;

use crate::finding::Certainty;
use crate::kube::{Action, HttpGet, Port};

use super::other::{
    Asked, Each, Meets, Membership, Model, Shape, Treatment, Trouble, port_of, release_of,
};
use super::{Fact, Mesh, Reason, Version};

use policy::{Access, Grant};

/// Annotation of pods and Namespaces that asks for injection.
pub(crate) const INJECT: &str = "linkerd.io/inject";
/// Annotation of pods and Namespaces: who is let in where no `Server` says so.
pub(crate) const DEFAULT_POLICY: &str = "config.linkerd.io/default-inbound-policy";
/// Annotation of pods and Namespaces with ports that the redirect leaves alone.
pub(crate) const SKIPPED_PORTS: &str = "config.linkerd.io/skip-inbound-ports";
/// Annotation of pods and Namespaces with ports whose traffic is not looked into.
pub(crate) const OPAQUE_PORTS: &str = "config.linkerd.io/opaque-ports";
/// Annotation of pods and Namespaces with ports that demand an identity of the mesh where no `Server`
/// says who is let in.
pub(crate) const REQUIRE_IDENTITY: &str = "config.linkerd.io/proxy-require-identity-inbound-ports";
/// The proxy.
pub(crate) const PROXY: &str = "linkerd-proxy";

/// The first release that makes routes for probes (edge-22.8).
const PROBE_ROUTES: Version = Version::new(2, 12);

/// Linkerd.
#[derive(Debug)]
pub(crate) struct Linkerd;

impl Model for Linkerd {
    fn release(&self, given: Option<Version>) -> Fact<Option<Version>> {
        release_of(Mesh::Linkerd, given, "the release is the latest")
    }

    fn own_containers(&self) -> &'static [&'static str] {
        &[PROXY, "linkerd-init"]
    }

    fn membership(&self, asked: &Asked<'_, '_>) -> Fact<Membership> {
        injection::membership(asked)
    }

    fn treat(
        &self,
        asked: &Asked<'_, '_>,
        membership: Membership,
        handlers: &[Each<'_>],
    ) -> Vec<Treatment> {
        let takes_part = matches!(membership, Membership::Injected | Membership::Brought);
        let each = handlers.iter();
        each.map(|one| {
            let action = one.1.action.as_ref().ok();
            let number = port_of(one);
            match (action, number) {
                (Some(action), Some(number)) if takes_part => judge(asked, one, action, number),
                _ => Treatment::left(number, Meets::Nothing),
            }
        })
        .collect()
    }

    fn shape(&self) -> Shape {
        Shape::unchanged(PROBE_ROUTES, "Linkerd changes no probes")
    }
}

fn judge(asked: &Asked<'_, '_>, one: &Each<'_>, action: &Action, port: i64) -> Treatment {
    let plain = |meets| Treatment::left(Some(port), meets);
    if policy::is_listed(asked, SKIPPED_PORTS, port) {
        return plain(Meets::Direct);
    }
    if action.host().is_some() {
        return plain(Meets::Elsewhere);
    }
    let access = Access::at(asked, port);
    let trouble = match action {
        Action::TcpSocket { .. } => return plain(Meets::Accepted),
        Action::HttpGet(http) if !one.1.slot.is_lifecycle() => {
            return probe(asked, one, http, port, &access);
        }
        Action::Grpc { .. } => Trouble::GrpcDenied,
        _ => Trouble::HookDenied,
    };
    let mut treatment = plain(Meets::Nothing);
    let has_routes = !access.routes.is_empty() || access.has_grpc_routes;
    let (grant, reason) = match action {
        Action::HttpGet(http) if http.scheme != "HTTPS" && !access.routes.is_empty() => {
            access.by_routes(&http.path)
        }
        _ => (access.grant, None),
    };
    treatment.because.extend(reason);
    treatment.meets = match (action, grant) {
        (Action::HttpGet(_), Grant::Refused) if has_routes && access.grant > Grant::Refused => {
            Meets::Unknown
        }
        // Whether one of the routes fits is not looked into.
        (Action::Grpc { .. }, _) if has_routes => Meets::Unknown,
        (_, Grant::Refused) => Meets::Trouble(trouble),
        (_, Grant::Taken | Grant::Open) => Meets::Application,
    };
    if grant == Grant::Taken {
        treatment.no_surer_than(Certainty::Assumed);
    }
    access.explain(&mut treatment);
    treatment
}

/// An `httpGet` probe: it has a route of its own, unless something stands in the way.
fn probe(
    asked: &Asked<'_, '_>,
    one: &Each<'_>,
    http: &HttpGet,
    port: i64,
    access: &Access<'_, '_>,
) -> Treatment {
    let mut treatment = Treatment::left(Some(port), Meets::Application);
    let obstacle = obstacle(asked, one, http, port, access);
    let is_opaque = access.is_opaque || policy::is_listed(asked, OPAQUE_PORTS, port);
    let is_read = http.scheme != "HTTPS" && !is_opaque;
    if access.is_http2 && http.scheme != "HTTPS" {
        treatment.meets = Meets::Unknown;
    } else if is_read && !access.routes.is_empty() {
        let (grant, reason) = access.by_routes(&http.path);
        treatment.because.extend(reason);
        if grant == Grant::Taken {
            treatment.no_surer_than(Certainty::Assumed);
        }
        if grant == Grant::Refused {
            treatment.meets = Meets::Trouble(Trouble::RouteHidesProbe);
        }
    } else {
        match (access.grant, obstacle) {
            (Grant::Open, _) => {}
            (Grant::Taken | Grant::Refused, None) => {
                let said = "the route of the probe is for all networks, unless \
                            `policyController.probeNetworks` of the installation names some";
                treatment.because.push(Reason::said(said, None));
                treatment.no_surer_than(Certainty::Default);
            }
            (Grant::Taken, Some(_)) => treatment.no_surer_than(Certainty::Assumed),
            (Grant::Refused, Some((trouble, why))) => {
                treatment.meets = Meets::Trouble(trouble);
                if trouble == Trouble::PortUndeclared {
                    treatment.no_surer_than(Certainty::Assumed);
                }
                treatment
                    .because
                    .extend(why.map(|said| Reason::said(said, None)));
            }
        }
    }
    treatment.by_release |= asked.release.is_some_and(|one| one < PROBE_ROUTES);
    access.explain(&mut treatment);
    treatment
}

/// Returns why a probe gets no route that fits it, if it gets none.
fn obstacle(
    asked: &Asked<'_, '_>,
    one: &Each<'_>,
    http: &HttpGet,
    port: i64,
    access: &Access<'_, '_>,
) -> Option<(Trouble, Option<&'static str>)> {
    let no_route = |said| Some((Trouble::NoProbeRoute, Some(said)));
    if http.scheme == "HTTPS" {
        return no_route("the proxy cannot see into HTTPS, so it makes no route for the probe");
    }
    if access.is_opaque || policy::is_listed(asked, OPAQUE_PORTS, port) {
        return no_route("the proxy does not look into an opaque port: no route for the probe");
    }
    if asked.release.is_some_and(|one| one < PROBE_ROUTES) {
        return no_route("releases before 2.12 make no routes for probes");
    }
    let container = &one.0;
    let is_named = |name: &str| container.ports().any(|port| port.name == Some(name));
    if matches!(&http.port, Port::Name(name) if !is_named(name)) {
        return no_route("Linkerd takes a port in quotes for a name, so it makes no route for it");
    }
    if !http.path.starts_with('/') {
        return Some((Trouble::PathWithoutSlash, None));
    }
    let said = "the proxy is taken to refuse a port that it was not told of";
    policy::is_undeclared(asked, one, port).then_some((Trouble::PortUndeclared, Some(said)))
}
