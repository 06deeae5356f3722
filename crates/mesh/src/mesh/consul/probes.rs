//! How Consul treats each probe.
//!
//! The ports of the proxy.
//!
//! The ways in which Consul breaks a handler.
//!
//! How pods take part in Consul.

use super::injection::{overwrites, transparent};
use super::keys::{DATAPLANE, EXCLUDED_PORTS, INIT};
use super::{faults, injection};
use crate::finding::Certainty;
use crate::kube::{Container, ContainerList, HttpGet, Port, ProbeHandler, Slot, Workload};
use crate::mesh::description::Mesh;
use crate::mesh::model::{
    HandlerRef, Membership, MeshModel, PodInput, ProbeDestination, ProbeTreatment, RewriteSupport,
    Target, exclusion, release_of, resolve,
};
use crate::mesh::version::Version;
use crate::mesh::{Fact, Reason, shared_faults};

/// The reason for a verdict that was not measured: plain HTTP at a proxy that requires mutual TLS.
const PLAIN: &str = "the proxy of Consul does not accept plain text by default";
const SETTLE_PLAIN: &str = "mutualTLSMode of ServiceDefaults";

/// The settings of traffic capture and probe rewriting for a pod.
pub(super) struct Pod<'a, 't> {
    input: &'a PodInput<'a, 't>,
    /// Whether traffic is redirected to the proxy.
    transparent: Fact<bool>,
    /// Whether probes are rewritten.
    overwrites: Fact<bool>,
}

impl<'a, 't> Pod<'a, 't> {
    pub(super) fn of(input: &'a PodInput<'a, 't>) -> Self {
        Self {
            input,
            transparent: transparent(input),
            overwrites: overwrites(input),
        }
    }

    /// Resolves the port of a handler. Port names apply to the whole pod; the first container that declares a name has it.
    pub(super) fn port_of(&self, (container, handler): &HandlerRef<'_>) -> Option<i64> {
        let port = handler.action.as_ref().ok()?.port()?;
        self.named(&port).or_else(|| resolve(&port, container))
    }

    fn named(&self, port: &Port) -> Option<i64> {
        let Port::Name(name) = port else { return None };
        let containers = self.containers();
        containers
            .iter()
            .flat_map(Container::ports)
            .find(|port| port.name == Some(name.as_str()))?
            .number
    }

    fn containers(&self) -> Vec<Container<'t>> {
        let template = &self.input.workload.template;
        template.containers_in(ContainerList::Main)
    }

    /// Returns the index of a container, without the proxy.
    fn index(&self, container: &Container<'_>) -> Option<i64> {
        let containers = self.containers();
        let index = containers
            .iter()
            .filter(|container| container.name() != DATAPLANE)
            .map(|container| &container.within)
            .position(|within| *within == container.within)?;
        i64::try_from(index).ok()
    }

    /// Returns the port of the listener that Consul creates for a probe; hooks and init containers have none.
    fn listener(&self, (container, handler): &HandlerRef<'_>) -> Option<i64> {
        let first = match handler.slot {
            Slot::Liveness => 20300,
            Slot::Readiness => 20400,
            Slot::Startup => 20500,
            Slot::PostStart | Slot::PreStop => return None,
        };
        Some(first + self.index(container)?)
    }

    /// Judges a probe of a pod that was injected before it was written down: it works if it targets its own listener.
    pub(super) fn injected_already(&self, handler: &HandlerRef<'_>) -> ProbeTreatment {
        let port = self.port_of(handler);
        let Ok(Some(_)) = handler.1.action.as_ref().map(ProbeHandler::port) else {
            return ProbeTreatment::unchanged(port, ProbeDestination::Nothing);
        };
        let is_http = matches!(handler.1.action, Ok(ProbeHandler::HttpGet(_)));
        if is_http && port.is_some() && port == self.listener(handler) {
            let mut treatment = ProbeTreatment::unchanged(port, ProbeDestination::Application);
            let message = "the listener is registered with Consul, but no manifest shows it";
            treatment.because.push(Reason::without_place(message, None));
            treatment.limit_certainty(Certainty::Assumed);
            return treatment;
        }
        self.not_rewritten(handler)
    }

    /// Judges a handler that is not rewritten.
    fn not_rewritten(&self, handler: &HandlerRef<'_>) -> ProbeTreatment {
        let port = self.port_of(handler);
        let mut treatment = ProbeTreatment::unchanged(port, ProbeDestination::Direct);
        if let Some(place) = exclusion(self.input, EXCLUDED_PORTS, port) {
            treatment.because.push(place);
            return treatment;
        }
        treatment.depend_on(&self.transparent);
        let Ok(action) = handler.1.action.as_ref() else {
            return treatment;
        };
        treatment.destination = match action {
            _ if !self.transparent.value => ProbeDestination::Direct,
            _ if action.host().is_some() => ProbeDestination::Elsewhere,
            _ if port.is_some_and(|port| owner(port).is_some()) => {
                ProbeDestination::Fault(&shared_faults::PORT_OF_PROXY)
            }
            ProbeHandler::TcpSocket { .. } => ProbeDestination::Accepted,
            ProbeHandler::Grpc { .. } => ProbeDestination::Fault(&shared_faults::GRPC_AT_MTLS),
            _ if handler.1.slot.is_lifecycle() => {
                ProbeDestination::Fault(&shared_faults::HOOK_AT_MTLS)
            }
            _ => ProbeDestination::Fault(&faults::PLAIN_AT_MTLS),
        };
        if let Some(place) = self.permissive().filter(|_| matches!(treatment.destination, ProbeDestination::Fault(fault) if fault != &shared_faults::PORT_OF_PROXY)) {
            treatment.destination = ProbeDestination::Unknown;
            treatment.because.push(place);
        }
        let by_plain =
            [&shared_faults::HOOK_AT_MTLS, &faults::PLAIN_AT_MTLS].map(ProbeDestination::Fault);
        if by_plain.contains(&treatment.destination) {
            if !self.overwrites.value {
                treatment.depend_on(&self.overwrites);
            }
            treatment
                .because
                .push(Reason::without_place(PLAIN, Some(SETTLE_PLAIN)));
            treatment.limit_certainty(Certainty::Assumed);
        }
        treatment
    }

    /// Returns the setting that allows plain text in addition to mutual TLS, for this service or another of the namespace.
    fn permissive(&self) -> Option<Reason> {
        self.input.objects.iter().find_map(|object| {
            let mode = object.node.get("spec")?.get("mutualTLSMode")?;
            let message = "plain text may be accepted";
            (mode.text() == Some("permissive"))
                .then(|| Reason::written(object.label_at(mode.span(), message)))
        })
    }

    pub(super) fn treatments(&self, handler: &HandlerRef<'_>) -> ProbeTreatment {
        let port = self.port_of(handler);
        match handler
            .1
            .action
            .as_ref()
            .map(|action| (action, action.port()))
        {
            Ok((ProbeHandler::HttpGet(http), _))
                if self.transparent.value && self.overwrites.value =>
            {
                match self.listener(handler) {
                    Some(listener) => self.exposed(handler, http, listener),
                    None => self.not_rewritten(handler),
                }
            }
            Ok((_, Some(_))) => self.not_rewritten(handler),
            _ => ProbeTreatment::unchanged(port, ProbeDestination::Nothing),
        }
    }

    /// Judges a probe that Consul points at one of its own listeners.
    fn exposed(&self, handler: &HandlerRef<'_>, http: &HttpGet, listener: i64) -> ProbeTreatment {
        let port = self.port_of(handler);
        let own = resolve(&http.port, &handler.0);
        let mut treatment = ProbeTreatment::unchanged(port, ProbeDestination::Application);
        treatment.depend_on(&self.transparent);
        treatment.depend_on(&self.overwrites);
        treatment.destination = match port {
            Some(port) if owner(port).is_some() => {
                ProbeDestination::Fault(&shared_faults::PORT_OF_PROXY)
            }
            _ if http.host.is_some() => ProbeDestination::Fault(&shared_faults::HOST_KEPT),
            _ if http.scheme == "HTTPS" => {
                ProbeDestination::Fault(&shared_faults::HTTPS_AT_PLAIN_LISTENER)
            }
            _ if own.is_some() && own != port => {
                ProbeDestination::Fault(&faults::PORT_NAME_OF_OTHER_CONTAINER)
            }
            _ if http.path.contains('?') => ProbeDestination::Fault(&faults::QUERY_IN_PATH),
            _ => ProbeDestination::Application,
        };
        if treatment.destination == ProbeDestination::Fault(&faults::QUERY_IN_PATH) {
            let message = "Consul exposes the path literally, including the query";
            treatment.because.push(Reason::without_place(message, None));
            treatment.limit_certainty(Certainty::Assumed);
        }
        treatment.target = Some(Target {
            path: http.path.clone(),
            port: listener,
            scheme: if http.scheme == "HTTPS" {
                "HTTPS"
            } else {
                "HTTP"
            },
            headers: None,
            drops_origin: false,
        });
        treatment.explanation = vec![(
            "endpoint",
            format!(
                "a listener on {listener} exposes {} of 127.0.0.1:{}",
                http.path,
                port.unwrap_or(0)
            ),
        )];
        treatment
    }
}

/// Returns the purpose of a port that the proxy uses.
pub(super) const fn owner(port: i64) -> Option<&'static str> {
    match port {
        20000 => Some("inbound traffic"),
        20200 => Some("metrics"),
        20300..=20599 => Some("exposed probes"),
        _ => None,
    }
}

/// The model of Consul.
#[derive(Debug)]
pub(crate) struct Consul;

impl MeshModel for Consul {
    fn release(&self, given: Option<Version>) -> Fact<Option<Version>> {
        release_of(Mesh::CONSUL, given, "the release is the latest")
    }

    fn own_containers(&self) -> &'static [&'static str] {
        &[DATAPLANE, INIT]
    }

    fn namespace_decides(&self) -> bool {
        false
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
        let pod = Pod::of(input);
        handlers
            .iter()
            .map(|handler| match membership {
                Membership::Injected => pod.treatments(handler),
                Membership::AlreadyInjected => pod.injected_already(handler),
                _ => ProbeTreatment::unchanged(pod.port_of(handler), ProbeDestination::Nothing),
            })
            .collect()
    }

    fn shape(&self) -> RewriteSupport {
        RewriteSupport {
            oldest: Version::new(1, 0),
            not_deployable: "it exposes the probes that it finds, so pre-rewritten probes make its proxy \
                      send requests to itself",
            caution: "Consul creates the listeners behind the probes from the original probes",
        }
    }

    fn port_owner(
        &self,
        _pod: &Workload<'_>,
        _release: Option<Version>,
        port: i64,
    ) -> Option<&'static str> {
        owner(port)
    }
}
