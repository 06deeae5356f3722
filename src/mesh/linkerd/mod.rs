//! Linkerd: probes stay as they are and go through its proxy, which has a policy for each port.
//!
//! Sources, linkerd2 b24cd405, read: `policy-controller/k8s/index/src/inbound/{index,workload}.rs`
//! (the routes that are made for probes), `pkg/inject/inject.go` (the ports of a pod) and
//! `pkg/inject/report.go` (who is injected, at 0467b8dc); the documentation, "Authorization Policy". Nothing
//! was run.

mod injection;
mod policy;

use crate::kube::{Action, HttpGet};

use super::other::{
    Asked, Each, Meets, Membership, Model, Shape, Treatment, Trouble, port_of, release_of,
};
use super::{Fact, Mesh, Reason, Version};

use policy::Access;

/// Annotation of pods and Namespaces that asks for injection.
pub const INJECT: &str = "linkerd.io/inject";
/// Annotation of pods and Namespaces: who is let in where no `Server` says so.
pub const DEFAULT_POLICY: &str = "config.linkerd.io/default-inbound-policy";
/// Annotation of pods and Namespaces with ports that the redirect leaves alone.
pub const SKIPPED_PORTS: &str = "config.linkerd.io/skip-inbound-ports";
/// Annotation of pods and Namespaces with ports whose traffic is not looked into.
pub const OPAQUE_PORTS: &str = "config.linkerd.io/opaque-ports";
/// The proxy.
pub const PROXY: &str = "linkerd-proxy";

/// The first release that makes routes for probes (edge-22.8).
const PROBE_ROUTES: Version = Version::new(2, 12);

/// Linkerd.
#[derive(Debug)]
pub struct Linkerd;

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
    let is_let_in = !access.is_closed || access.admits_nodes;
    let mut treatment = if !is_let_in {
        plain(Meets::Trouble(trouble))
    } else if access.routes.is_empty() {
        plain(Meets::Application)
    } else {
        // Whether one of the routes fits is not looked into.
        plain(Meets::Unknown)
    };
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
    let is_encrypted = http.scheme == "HTTPS";
    let is_opaque = access.is_opaque || policy::is_listed(asked, OPAQUE_PORTS, port);
    let is_old = asked.release.is_some_and(|one| one < PROBE_ROUTES);
    let denied = access.is_closed && !access.admits_nodes;
    let looks_inside = !is_encrypted && !is_opaque;
    let mut because = None;
    let meets = if looks_inside && !access.routes.is_empty() {
        if access.serves(&http.path) {
            Meets::Application
        } else {
            Meets::Trouble(Trouble::RouteHidesProbe)
        }
    } else if !denied {
        Meets::Application
    } else if !looks_inside || is_old {
        because = Some(match (is_encrypted, is_opaque) {
            (true, _) => "the proxy cannot see into HTTPS, so it makes no route for the probe",
            (_, true) => "the proxy does not look into an opaque port: no route for the probe",
            _ => "releases before 2.12 make no routes for probes",
        });
        Meets::Trouble(Trouble::NoProbeRoute)
    } else if !http.path.starts_with('/') {
        Meets::Trouble(Trouble::PathWithoutSlash)
    } else if policy::is_undeclared(asked, one, port) {
        Meets::Trouble(Trouble::PortUndeclared)
    } else {
        Meets::Application
    };
    let mut treatment = Treatment::left(Some(port), meets);
    treatment.by_release |= is_old;
    if meets == Meets::Trouble(Trouble::PortUndeclared) {
        because = Some("the proxy is taken to refuse a port that it was not told of");
        treatment.is_assumed = true;
    }
    let because = because.map(|said| Reason::said(said, None));
    treatment.because.extend(because);
    access.explain(&mut treatment);
    treatment
}
