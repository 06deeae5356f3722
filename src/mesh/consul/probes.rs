//! What Consul makes of each probe.

use crate::finding::Certainty;
use crate::kube::{Action, Container, ContainerList, HttpGet, Port, Slot};
use crate::mesh::other::{
    Asked, Each, Meets, Model as _, Target, Treatment, Trouble, exclusion, resolve,
};
use crate::mesh::{Fact, Reason};

use super::injection::{overwrites, transparent};
use super::{Consul, DATAPLANE, EXCLUDED_PORTS};

/// HTTP in plain text at a proxy that demands mutual TLS was not run.
const PLAIN: &str = "the proxy takes no plain text, as Consul has it";
const SETTLE_PLAIN: &str = "mutualTLSMode of ServiceDefaults";

/// What the redirect and the rewrite of a pod are set to.
pub(super) struct Pod<'a, 't> {
    asked: &'a Asked<'a, 't>,
    /// Traffic is redirected to the proxy.
    transparent: Fact<bool>,
    /// Probes are rewritten.
    overwrites: Fact<bool>,
}

impl<'a, 't> Pod<'a, 't> {
    pub(super) fn of(asked: &'a Asked<'a, 't>) -> Self {
        Self {
            asked,
            transparent: transparent(asked),
            overwrites: overwrites(asked),
        }
    }

    /// Names count in the whole pod, and the first container that declares one has it.
    pub(super) fn port_of(&self, (container, handler): &Each<'_>) -> Option<i64> {
        let port = handler.action.as_ref().ok()?.port()?;
        self.named(&port).or_else(|| resolve(&port, container))
    }

    fn named(&self, port: &Port) -> Option<i64> {
        let Port::Name(name) = port else { return None };
        let containers = self.containers();
        let mut ports = containers.iter().flat_map(Container::ports);
        ports.find(|one| one.name == Some(name.as_str()))?.number
    }

    fn containers(&self) -> Vec<Container<'t>> {
        let template = &self.asked.workload.template;
        template.containers_in(ContainerList::Main)
    }

    /// The place among the containers, the proxy's own left out.
    fn index(&self, container: &Container<'_>) -> Option<i64> {
        let containers = self.containers();
        let others = containers.iter().filter(|one| one.name() != DATAPLANE);
        let index = others
            .map(|one| &one.within)
            .position(|one| *one == container.within)?;
        i64::try_from(index).ok()
    }

    /// The port of the listener that Consul makes for a probe; hooks and init containers have none.
    fn listener(&self, (container, handler): &Each<'_>) -> Option<i64> {
        let first = match handler.slot {
            Slot::Liveness => 20300,
            Slot::Readiness => 20400,
            Slot::Startup => 20500,
            Slot::PostStart | Slot::PreStop => return None,
        };
        Some(first + self.index(container)?)
    }

    /// The pod was injected and written down: a probe is fine where it points at its own listener.
    pub(super) fn injected_already(&self, one: &Each<'_>) -> Treatment {
        let port = self.port_of(one);
        let Ok(Some(_)) = one.1.action.as_ref().map(Action::port) else {
            return Treatment::left(port, Meets::Nothing);
        };
        let is_http = matches!(one.1.action, Ok(Action::HttpGet(_)));
        if is_http && port.is_some() && port == self.listener(one) {
            let mut treatment = Treatment::left(port, Meets::Application);
            let said = "the listener is registered with Consul, which no manifest shows";
            treatment.because.push(Reason::said(said, None));
            treatment.no_surer_than(Certainty::Assumed);
            return treatment;
        }
        self.left(one)
    }

    /// A handler that stays as it is.
    fn left(&self, one: &Each<'_>) -> Treatment {
        let port = self.port_of(one);
        let mut treatment = Treatment::left(port, Meets::Direct);
        if let Some(place) = exclusion(self.asked, EXCLUDED_PORTS, port) {
            treatment.because.push(place);
            return treatment;
        }
        treatment.rest_on(&self.transparent);
        let Ok(action) = one.1.action.as_ref() else {
            return treatment;
        };
        treatment.meets = match action {
            _ if !self.transparent.value => Meets::Direct,
            _ if action.host().is_some() => Meets::Elsewhere,
            _ if port.is_some_and(|port| Consul.port_owner(port).is_some()) => {
                Meets::Trouble(Trouble::PortOfProxy)
            }
            Action::TcpSocket { .. } => Meets::Accepted,
            Action::Grpc { .. } => Meets::Trouble(Trouble::GrpcAtMtls),
            _ if one.1.slot.is_lifecycle() => Meets::Trouble(Trouble::HookAtMtls),
            _ => Meets::Trouble(Trouble::PlainAtMtls),
        };
        if let Some(place) = self.permissive().filter(|_| matches!(treatment.meets, Meets::Trouble(trouble) if trouble != Trouble::PortOfProxy)) {
            treatment.meets = Meets::Unknown;
            treatment.because.push(place);
        }
        let by_plain = [Trouble::HookAtMtls, Trouble::PlainAtMtls].map(Meets::Trouble);
        if by_plain.contains(&treatment.meets) {
            if !self.overwrites.value {
                treatment.rest_on(&self.overwrites);
            }
            treatment
                .because
                .push(Reason::said(PLAIN, Some(SETTLE_PLAIN)));
            treatment.no_surer_than(Certainty::Assumed);
        }
        treatment
    }

    /// What lets plain text in beside mutual TLS, for this service or another of the namespace.
    fn permissive(&self) -> Option<Reason> {
        self.asked.objects.iter().find_map(|object| {
            let mode = object.node.get("spec")?.get("mutualTLSMode")?;
            let said = "plain text may be let in";
            (mode.text() == Some("permissive"))
                .then(|| Reason::written(object.label_at(mode.span(), said)))
        })
    }

    pub(super) fn treat(&self, one: &Each<'_>) -> Treatment {
        let port = self.port_of(one);
        match one.1.action.as_ref().map(|action| (action, action.port())) {
            Ok((Action::HttpGet(http), _)) if self.transparent.value && self.overwrites.value => {
                match self.listener(one) {
                    Some(listener) => self.exposed(one, http, listener),
                    None => self.left(one),
                }
            }
            Ok((_, Some(_))) => self.left(one),
            _ => Treatment::left(port, Meets::Nothing),
        }
    }

    /// A probe that Consul points at a listener of its own.
    fn exposed(&self, one: &Each<'_>, http: &HttpGet, listener: i64) -> Treatment {
        let port = self.port_of(one);
        let own = resolve(&http.port, &one.0);
        let mut treatment = Treatment::left(port, Meets::Application);
        treatment.rest_on(&self.transparent);
        treatment.rest_on(&self.overwrites);
        treatment.meets = match port {
            Some(port) if Consul.port_owner(port).is_some() => Meets::Trouble(Trouble::PortOfProxy),
            _ if http.host.is_some() => Meets::Trouble(Trouble::HostKept),
            _ if http.scheme == "HTTPS" => Meets::Trouble(Trouble::PlainListener),
            _ if own.is_some() && own != port => Meets::Trouble(Trouble::NameOfOther),
            _ if http.path.contains('?') => Meets::Trouble(Trouble::QueryInPath),
            _ => Meets::Application,
        };
        if treatment.meets == Meets::Trouble(Trouble::QueryInPath) {
            let said = "Consul exposes the path to the letter, query included";
            treatment.because.push(Reason::said(said, None));
            treatment.no_surer_than(Certainty::Assumed);
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
        treatment.trail = vec![(
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
