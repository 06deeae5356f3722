//! Consul on Kubernetes: `httpGet` probes are pointed at listeners that Consul exposes.
//!
//! Sources, consul-k8s a507b1d1, run:
//! `control-plane/connect-inject/webhook/{mesh_webhook,redirect_traffic}.go`; the registration in
//! `controllers/endpoints/endpoints_controller.go`. The ports are the same from 1.0 to 2.0.

use crate::finding::Certainty;
use crate::kube::{Action, Container, ContainerList, Object, Port, Slot};
use crate::source::placeholder;
use crate::yaml::Entry;

use super::other::{
    Asked, Each, Meets, Membership, Model, Shape, Target, Treatment, Trouble, release_of, resolve,
};
use super::{Fact, Mesh, Reason, Version};

/// Annotation of pods that asks for injection.
pub const INJECT: &str = "consul.hashicorp.com/connect-inject";
/// Annotation of pods that the webhook has seen.
pub const STATUS: &str = "consul.hashicorp.com/connect-inject-status";
/// Annotation of pods and label of Namespaces that switches the redirect.
pub const TRANSPARENT: &str = "consul.hashicorp.com/transparent-proxy";
/// Annotation of pods that switches the rewrite of probes.
pub const OVERWRITE: &str = "consul.hashicorp.com/transparent-proxy-overwrite-probes";
/// Annotation of pods with ports that the redirect leaves alone.
pub const EXCLUDED_PORTS: &str = "consul.hashicorp.com/transparent-proxy-exclude-inbound-ports";
/// The proxy.
pub const DATAPLANE: &str = "consul-dataplane";

const SETTLE: &str = "--assume injection=all|none";

/// Consul.
#[derive(Debug)]
pub struct Consul;

impl Model for Consul {
    fn release(&self, given: Option<Version>) -> Fact<Option<Version>> {
        release_of(Mesh::Consul, given, "the release is the latest")
    }

    fn own_containers(&self) -> &'static [&'static str] {
        &[DATAPLANE, "consul-connect-inject-init"]
    }

    fn membership(&self, asked: &Asked<'_, '_>) -> Fact<Membership> {
        let member = injection(asked);
        if member.value != Membership::Injected {
            return member;
        }
        let bad = [TRANSPARENT, OVERWRITE].into_iter().find_map(|key| {
            let entry = asked.workload.template.annotation(key)?;
            let text = entry.value.text().unwrap_or_default();
            let bad = boolean(text).is_none() && !placeholder::contains(text);
            bad.then_some(entry)
        });
        bad.map_or(member, |entry| refused(&asked.workload.object, &entry))
    }

    fn treat(
        &self,
        asked: &Asked<'_, '_>,
        membership: Membership,
        handlers: &[Each<'_>],
    ) -> Vec<Treatment> {
        let pod = Pod::of(asked);
        let each = handlers.iter();
        each.map(|one| match membership {
            Membership::Injected => pod.treat(one),
            Membership::Brought => pod.injected_already(one),
            _ => Treatment::left(pod.port_of(one), Meets::Nothing),
        })
        .collect()
    }

    fn shape(&self) -> Shape {
        Shape {
            oldest: Version::new(1, 0),
            why_not: "what it exposes is taken from the probes it finds, so probes that were \
                      rewritten before make its proxy ask itself",
            caution: "the listeners behind the probes are registered with Consul by the original",
        }
    }

    fn port_owner(&self, port: i64) -> Option<&'static str> {
        match port {
            20000 => Some("inbound traffic"),
            20200 => Some("metrics"),
            20300..=20599 => Some("exposed probes"),
            _ => None,
        }
    }
}

/// What Go's `strconv.ParseBool` reads.
fn boolean(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" | "TRUE" | "true" | "True" => Some(true),
        "0" | "f" | "F" | "FALSE" | "false" | "False" => Some(false),
        _ => None,
    }
}

fn refused(object: &Object<'_>, entry: &Entry<'_>) -> Fact<Membership> {
    let said = "the webhook refuses the pod for this value";
    Fact::known(
        Membership::Refused,
        object.label_at(entry.value.span(), said),
    )
}

fn injection(asked: &Asked<'_, '_>) -> Fact<Membership> {
    let object = &asked.workload.object;
    let template = &asked.workload.template;
    let status = template.annotation(STATUS);
    let status = status.filter(|entry| entry.value.text().is_some_and(|text| !text.is_empty()));
    let proxy = template.containers().into_iter();
    let proxy = proxy.filter(|one| one.name() == DATAPLANE);
    let proxy = proxy.filter_map(|one| one.node.get("name")).next();
    if let Some(span) = status
        .map(|entry| entry.key.span())
        .or(proxy.map(|name| name.span()))
    {
        let said = "the manifest carries the proxy of Consul";
        return Fact::known(Membership::Brought, object.label_at(span, said));
    }
    let Some(entry) = template.annotation(INJECT) else {
        if let Some(supposed) = &asked.supposed {
            return supposed.clone().map(|on| match on {
                true => Membership::Injected,
                false => Membership::Outside,
            });
        }
        let said = format!("nothing asks for injection: no `{INJECT}`");
        return Fact::default(Membership::Outside, said, SETTLE);
    };
    let text = entry.value.text().unwrap_or_default();
    let at = |said: &str| object.label_at(entry.value.span(), said);
    match boolean(text) {
        _ if placeholder::contains(text) => {
            let said = "this decides about injection, and another tool fills it in";
            Fact {
                certainty: Certainty::Unknown,
                ..Fact::known(Membership::Unknown, at(said))
            }
        }
        Some(true) => Fact::known(Membership::Injected, at("injection is on")),
        Some(false) => Fact::known(Membership::Outside, at("injection is switched off here")),
        None => refused(object, &entry),
    }
}

/// What the redirect and the rewrite of a pod are set to.
struct Pod<'a, 't> {
    asked: &'a Asked<'a, 't>,
    /// Traffic is redirected to the proxy.
    transparent: bool,
    /// Probes are rewritten.
    overwrites: bool,
}

impl<'a, 't> Pod<'a, 't> {
    fn of(asked: &'a Asked<'a, 't>) -> Self {
        let own = |key: &str| boolean(asked.workload.template.annotation(key)?.value.text()?);
        let label = || boolean(asked.namespace?.label(TRANSPARENT)?.value.text()?);
        Self {
            asked,
            transparent: own(TRANSPARENT).or_else(label).unwrap_or(true),
            overwrites: own(OVERWRITE).unwrap_or(true),
        }
    }

    /// Names count in the whole pod.
    fn port_of(&self, (container, handler): &Each<'_>) -> Option<i64> {
        let port = handler.action.as_ref().ok()?.port()?;
        resolve(&port, container).or_else(|| {
            let Port::Name(name) = &port else { return None };
            let containers = self
                .asked
                .workload
                .template
                .containers_in(ContainerList::Main);
            let mut ports = containers.iter().flat_map(Container::ports);
            ports.find(|one| one.name == Some(name.as_str()))?.number
        })
    }

    /// The place among the containers, the proxy's own left out.
    fn index(&self, container: &Container<'_>) -> Option<i64> {
        let containers = self
            .asked
            .workload
            .template
            .containers_in(ContainerList::Main);
        let others = containers.iter().filter(|one| one.name() != DATAPLANE);
        let index = others
            .map(|one| &one.within)
            .position(|one| *one == container.within)?;
        i64::try_from(index).ok()
    }

    fn injected_already(&self, one: &Each<'_>) -> Treatment {
        let port = self.port_of(one);
        let meets = match one.1.action.as_ref().map(Action::port) {
            Ok(Some(_)) if port.is_some_and(|port| (20300..20600).contains(&port)) => {
                Meets::Application
            }
            Ok(Some(_)) => self.left(one),
            _ => Meets::Nothing,
        };
        Treatment::left(port, meets)
    }

    /// A handler that stays as it is.
    fn left(&self, one: &Each<'_>) -> Meets {
        let excluded = self.asked.workload.template.annotation(EXCLUDED_PORTS);
        let excluded = excluded
            .and_then(|entry| entry.value.text())
            .unwrap_or_default();
        let mut excluded = excluded
            .split(',')
            .map(|port| port.trim().parse::<i64>().ok());
        let port = self.port_of(one);
        match one.1.action.as_ref() {
            _ if !self.transparent || excluded.any(|one| one.is_some() && one == port) => {
                Meets::Direct
            }
            Ok(action) if action.host().is_some() => Meets::Elsewhere,
            Ok(Action::TcpSocket { .. }) => Meets::Accepted,
            Ok(Action::Grpc { .. }) => Meets::Trouble(Trouble::GrpcAtMtls),
            _ => Meets::Unknown,
        }
    }

    fn treat(&self, one: &Each<'_>) -> Treatment {
        let port = self.port_of(one);
        let Some(action) = one
            .1
            .action
            .as_ref()
            .ok()
            .filter(|one| one.port().is_some())
        else {
            return Treatment::left(port, Meets::Nothing);
        };
        let first = match one.1.slot {
            Slot::Liveness => Some(20300),
            Slot::Readiness => Some(20400),
            Slot::Startup => Some(20500),
            Slot::PostStart | Slot::PreStop => None,
        };
        let listener = first.and_then(|first| Some(first + self.index(&one.0)?));
        let (Action::HttpGet(http), Some(listener), true, true) =
            (action, listener, self.transparent, self.overwrites)
        else {
            return Treatment::left(port, self.left(one));
        };
        let mut treatment = Treatment::left(port, Meets::Application);
        treatment.meets = match port {
            Some(port) if Consul.port_owner(port).is_some() => Meets::Trouble(Trouble::PortOfProxy),
            _ if http.host.is_some() => Meets::Elsewhere,
            _ if http.scheme == "HTTPS" => Meets::Trouble(Trouble::PlainListener),
            _ if http.path.contains('?') => Meets::Trouble(Trouble::QueryInPath),
            _ => Meets::Application,
        };
        if treatment.meets == Meets::Trouble(Trouble::QueryInPath) {
            let said = "Consul exposes the path to the letter, query included";
            treatment.because.push(Reason::said(said, None));
            treatment.is_assumed = true;
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
