//! How Linkerd treats each handler: by the policy of its port.
//!
//! The ways in which Linkerd breaks a handler.
//!
//! The model of Linkerd: which pods it injects, and what it does to their probes.

use super::keys::{INIT, OPAQUE_PORTS, PROXY, SKIPPED_PORTS};
use super::policy::{Access, Grant};
use super::{faults, injection, policy};
use crate::finding::Certainty;
use crate::kube::{HttpGet, Port, ProbeHandler};
use crate::mesh::description::Mesh;
use crate::mesh::fact::{Fact, Reason};
use crate::mesh::fault::ProbeFault;
use crate::mesh::model::{
    HandlerRef, Membership, MeshModel, PodInput, ProbeDestination, ProbeTreatment, RewriteSupport,
    release_of, treatments_of_unchanged_probes,
};
use crate::mesh::version::Version;

/// What settles whether the proxy knows a port.
const SETTLE_PORT: &str = "`ports` of the container";

/// The first release that creates routes for probes (edge-22.8).
pub(super) const PROBE_ROUTES: Version = Version::new(2, 12);

/// Determines the outcome of a handler that targets `port`.
pub(super) fn judge(
    input: &PodInput<'_, '_>,
    handler: &HandlerRef<'_>,
    action: &ProbeHandler,
    port: i64,
) -> ProbeTreatment {
    let plain = |destination| ProbeTreatment::unchanged(Some(port), destination);
    if policy::is_listed(input, SKIPPED_PORTS, port) {
        return plain(ProbeDestination::Direct);
    }
    if action.host().is_some() {
        return plain(ProbeDestination::Elsewhere);
    }
    if let Some(early) = injection::before_capture(input, handler) {
        let mut treatment = plain(ProbeDestination::Direct);
        treatment.depend_on(&early);
        return treatment;
    }
    let access = Access::at(input, port);
    let fault = match action {
        ProbeHandler::TcpSocket { .. } => return plain(ProbeDestination::Accepted),
        ProbeHandler::HttpGet(http) if !handler.1.slot.is_lifecycle() => {
            return probe(input, handler, http, port, &access);
        }
        ProbeHandler::Grpc { .. } => &faults::GRPC_DENIED,
        _ => &faults::HOOK_DENIED,
    };
    let mut treatment = plain(ProbeDestination::Nothing);
    let has_routes = !access.routes.is_empty() || access.has_grpc_routes;
    let (grant, reason) = match action {
        ProbeHandler::HttpGet(http) if http.scheme != "HTTPS" && !access.routes.is_empty() => {
            access.by_routes(&http.path)
        }
        _ => (access.grant, None),
    };
    treatment.because.extend(reason);
    treatment.destination = match (action, grant) {
        (ProbeHandler::HttpGet(_), Grant::Refused)
            if has_routes && access.grant > Grant::Refused =>
        {
            ProbeDestination::Unknown
        }
        // Whether one of the routes matches is not evaluated.
        (ProbeHandler::Grpc { .. }, _) if has_routes => ProbeDestination::Unknown,
        (_, Grant::Refused) => ProbeDestination::Fault(fault),
        (_, Grant::Assumed | Grant::Open) => ProbeDestination::Application,
    };
    if grant == Grant::Assumed {
        treatment.limit_certainty(Certainty::Assumed);
    }
    access.explain(&mut treatment);
    treatment
}

/// Determines the outcome of an `httpGet` probe: it has its own route unless there is an obstacle.
fn probe(
    input: &PodInput<'_, '_>,
    handler: &HandlerRef<'_>,
    http: &HttpGet,
    port: i64,
    access: &Access<'_, '_>,
) -> ProbeTreatment {
    let mut treatment = ProbeTreatment::unchanged(Some(port), ProbeDestination::Application);
    let obstacle = obstacle(input, handler, http, port, access);
    let is_opaque = access.is_opaque || policy::is_listed(input, OPAQUE_PORTS, port);
    let is_read = http.scheme != "HTTPS" && !is_opaque;
    if access.is_http2 && http.scheme != "HTTPS" {
        treatment.destination = ProbeDestination::Unknown;
    } else if is_read && !access.routes.is_empty() {
        let (grant, reason) = access.by_routes(&http.path);
        treatment.because.extend(reason);
        if grant == Grant::Assumed {
            treatment.limit_certainty(Certainty::Assumed);
        }
        if grant == Grant::Refused {
            treatment.destination = ProbeDestination::Fault(&faults::ROUTE_HIDES_PROBE);
        }
    } else {
        match (access.grant, obstacle) {
            (Grant::Open, _) => {}
            (Grant::Assumed | Grant::Refused, None) => {
                let message = "the route of the probe applies to all networks, unless \
                               `policyController.probeNetworks` of the installation sets some";
                treatment.because.push(Reason::without_place(message, None));
                treatment.limit_certainty(Certainty::Default);
            }
            (Grant::Assumed, Some(_)) => treatment.limit_certainty(Certainty::Assumed),
            (Grant::Refused, Some((fault, reason))) => {
                treatment.destination = ProbeDestination::Fault(fault);
                if fault == &faults::PORT_UNDECLARED {
                    treatment.limit_certainty(Certainty::Assumed);
                }
                let settle = (fault == &faults::PORT_UNDECLARED).then_some(SETTLE_PORT);
                treatment
                    .because
                    .extend(reason.map(|message| Reason::without_place(message, settle)));
            }
        }
    }
    treatment.by_release |= input.release.is_some_and(|release| release < PROBE_ROUTES);
    access.explain(&mut treatment);
    treatment
}

/// Returns why a probe has no matching route of its own, if it has none.
fn obstacle(
    input: &PodInput<'_, '_>,
    handler: &HandlerRef<'_>,
    http: &HttpGet,
    port: i64,
    access: &Access<'_, '_>,
) -> Option<(&'static ProbeFault, Option<&'static str>)> {
    let no_route = |message| Some((&faults::NO_PROBE_ROUTE, Some(message)));
    if http.scheme == "HTTPS" {
        return no_route("the proxy cannot read HTTPS, so it creates no route for the probe");
    }
    if access.is_opaque || policy::is_listed(input, OPAQUE_PORTS, port) {
        return no_route(
            "the proxy does not read the traffic of an opaque port, so it creates no route for \
             the probe",
        );
    }
    if input.release.is_some_and(|release| release < PROBE_ROUTES) {
        return no_route("releases before 2.12 create no routes for probes");
    }
    let container = &handler.0;
    let is_named = |name: &str| container.ports().any(|port| port.name == Some(name));
    if matches!(&http.port, Port::Name(name) if !is_named(name)) {
        return no_route(
            "Linkerd treats a port in quotes as a name, so it creates no route for it",
        );
    }
    if !http.path.starts_with('/') {
        return Some((&faults::PATH_WITHOUT_SLASH, None));
    }
    let message = "the proxy rejects connections to a port that it does not know";
    policy::is_undeclared(input, handler, port).then_some((&faults::PORT_UNDECLARED, Some(message)))
}

/// Linkerd, which does not change probes: the policy of a port decides the outcome.
#[derive(Debug)]
pub(crate) struct Linkerd;

impl MeshModel for Linkerd {
    fn release(&self, given: Option<Version>) -> Fact<Option<Version>> {
        release_of(Mesh::LINKERD, given, "the release is the latest")
    }

    fn own_containers(&self) -> &'static [&'static str] {
        &[PROXY, INIT]
    }

    fn membership(&self, input: &PodInput<'_, '_>) -> Fact<Membership> {
        injection::membership(input)
    }

    fn treatments(
        &self,
        input: &PodInput<'_, '_>,
        membership: Membership,
        handlers: &[HandlerRef<'_>],
    ) -> Vec<ProbeTreatment> {
        treatments_of_unchanged_probes(membership, handlers, |handler, action, number| {
            judge(input, handler, action, number)
        })
    }

    fn shape(&self) -> RewriteSupport {
        RewriteSupport::unchanged(PROBE_ROUTES, "Linkerd does not change probes")
    }
}
