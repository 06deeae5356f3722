//! What the probe proxy, or what was there before it, makes of each probe.

use crate::finding::Certainty;
use crate::kube::{Action, ContainerList, HttpGet, Workload};
use crate::mesh::other::{Asked, Each, Meets, Target, Treatment, Trouble, exclusion, port_of};
use crate::mesh::{Reason, Version};
use crate::yaml::NodeRef;

use super::injection::word;
use super::{
    DEFAULT_PORT, EXCLUDED_PORTS, GATEWAY, PORT_ENV, PROXY_PORT, SIDECAR, SIDECAR_ENV,
    VIRTUAL_PORT, VIRTUAL_PROBES,
};

const DEFAULT_VIRTUAL_PORT: i64 = 9000;
const HOST: &str = "Host";
const NATIVE: &str = "--assume native-sidecars=true|false";

/// Releases that treat probes alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Era {
    /// Up to 2.8.
    Virtual,
    /// 2.9 to 2.12: virtual probes take over where the proxy is off.
    Both,
    /// 2.13 and 2.14: virtual probes are off unless asked for.
    Proxy,
    /// 3: no virtual probes; ports of probes leave the redirect where the proxy is off.
    Three,
}

impl Era {
    pub(super) fn of(release: Option<Version>) -> Self {
        match release {
            Some(release) if release < Version::new(2, 9) => Self::Virtual,
            Some(release) if release < Version::new(2, 13) => Self::Both,
            Some(release) if release < Version::new(3, 0) => Self::Proxy,
            _ => Self::Three,
        }
    }
}

/// What the annotations of a pod say about its probe proxy.
struct Ports {
    era: Era,
    port: i64,
    listens: i64,
    gateway: Option<bool>,
}

impl Ports {
    fn of(workload: &Workload<'_>, release: Option<Version>) -> Self {
        let template = &workload.template;
        let text = |key: &str| template.annotation(key)?.value.text();
        let gateway = text(GATEWAY).map(|value| word(value).unwrap_or(true));
        let era = Era::of(release);
        let written = text(PROXY_PORT).and_then(|text| text.parse::<u16>().ok());
        let port = match (era, gateway, written) {
            (Era::Virtual, ..) | (_, Some(true), _) => 0,
            (_, _, Some(port)) => i64::from(port),
            (_, _, None) => DEFAULT_PORT,
        };
        // The env asks whether the annotation is there, the rewrite what it says.
        let by_rewrite = if gateway.is_some() { 0 } else { port };
        let forced = text(SIDECAR_ENV).and_then(|all| {
            let mut pairs = all.split(';').map(str::trim);
            let value = pairs.find_map(|pair| pair.strip_prefix(PORT_ENV)?.strip_prefix('='))?;
            value.trim().parse().ok()
        });
        Self {
            era,
            port,
            listens: forced.unwrap_or(by_rewrite),
            gateway,
        }
    }
}

/// Returns the port on which the sidecar of an injected pod listens for probes; `None` where it
/// does not.
#[must_use]
pub(crate) fn probe_port(workload: &Workload<'_>, release: Option<Version>) -> Option<i64> {
    let ports = Ports::of(workload, release);
    (ports.era != Era::Virtual && ports.listens > 0).then_some(ports.listens)
}

/// What the pod's probe proxy is set to.
pub(super) struct ProbeProxy<'a, 't> {
    asked: &'a Asked<'a, 't>,
    era: Era,
    /// Where probes are pointed; 0 where they are left alone.
    pub(super) port: i64,
    /// Where the sidecar listens for them; 0 where it does not.
    listens: i64,
    /// `kuma.io/gateway`, if it is there.
    pub(super) gateway: Option<bool>,
}

impl<'a, 't> ProbeProxy<'a, 't> {
    pub(super) fn of(asked: &'a Asked<'a, 't>) -> Self {
        let Ports {
            era,
            port,
            listens,
            gateway,
        } = Ports::of(asked.workload, asked.release);
        Self {
            asked,
            era,
            port,
            listens,
            gateway,
        }
    }

    /// A probe that the webhook would rewrite names the port of the probe proxy.
    pub(super) fn refuses(&self, one: &Each<'_>) -> bool {
        self.port > 0 && !one.1.slot.is_lifecycle() && port_of(one) == Some(self.port)
    }

    pub(super) fn refuse(&self, one: &Each<'_>) -> Treatment {
        let meets = if self.refuses(one) {
            Meets::Trouble(Trouble::PodRefused)
        } else {
            Meets::Nothing
        };
        Treatment::left(port_of(one), meets)
    }

    pub(super) fn injected_already(&self, one: &Each<'_>) -> Treatment {
        let port = port_of(one);
        let Ok(Some(_)) = one.1.action.as_ref().map(Action::port) else {
            return Treatment::left(port, Meets::Nothing);
        };
        let is_http = matches!(one.1.action, Ok(Action::HttpGet(_)));
        let written = self.sidecar_port();
        let listens = written.unwrap_or(self.listens);
        let has_proxy = written.is_some() || self.era != Era::Virtual;
        let points_at_proxy = is_http && (port == Some(DEFAULT_PORT) || port == Some(self.port));
        if is_http && listens > 0 && port == Some(listens) {
            return Treatment::left(port, Meets::Helper);
        }
        if points_at_proxy && listens == 0 && has_proxy {
            return Treatment::left(port, Meets::Trouble(Trouble::AgentOff));
        }
        let mut treatment = Treatment::left(port, Meets::Unknown);
        if let Some(place) = exclusion(self.asked, EXCLUDED_PORTS, port) {
            treatment.meets = Meets::Direct;
            treatment.because.push(place);
        } else if is_http && port == Some(DEFAULT_VIRTUAL_PORT) && self.era != Era::Three {
            treatment.meets = Meets::Application;
        }
        treatment
    }

    /// Where the sidecar of the manifest is told to listen.
    fn sidecar_port(&self) -> Option<i64> {
        let containers = self.asked.workload.template.containers();
        let sidecar = containers.iter().find(|one| one.name() == SIDECAR)?;
        let env = sidecar.node.get("env")?;
        let mut items = env.items();
        let one = items.find(|one| one.get("name").and_then(NodeRef::text) == Some(PORT_ENV))?;
        one.get("value")?.text()?.trim().parse().ok()
    }

    pub(super) fn treat(&self, one: &Each<'_>) -> Treatment {
        let port = port_of(one);
        let Some(action) = one
            .1
            .action
            .as_ref()
            .ok()
            .filter(|one| one.port().is_some())
        else {
            return Treatment::left(port, Meets::Nothing);
        };
        if one.1.slot.is_lifecycle() {
            let mut left = Treatment::left(port, Meets::Unknown);
            if let Some(place) = exclusion(self.asked, EXCLUDED_PORTS, port) {
                left.meets = Meets::Direct;
                left.because.push(place);
            } else if action.host().is_some() {
                left.meets = Meets::Elsewhere;
            }
            return left;
        }
        if one.0.list == ContainerList::Init && self.asked.native_sidecars != Some(true) {
            let mut left = Treatment::left(port, Meets::Trouble(Trouble::SidecarLeft));
            if self.asked.native_sidecars.is_none() {
                let said = "Kuma's own sidecar is no native one";
                left.because.push(Reason::said(said, Some(NATIVE)));
                left.no_surer_than(Certainty::Assumed);
            }
            return left;
        }
        if self.port > 0 {
            return self.rewritten(one, action);
        }
        self.off(one, action)
    }

    fn rewritten(&self, one: &Each<'_>, action: &Action) -> Treatment {
        let port = port_of(one);
        let meets = match action {
            _ if self.listens != self.port => Meets::Trouble(Trouble::AgentOff),
            _ if action.host().is_some() => Meets::Trouble(Trouble::HttpHostLost),
            Action::HttpGet(http) if http.headers.iter().any(|(name, _)| name == HOST) => {
                Meets::Trouble(Trouble::HostHeaderLost)
            }
            _ => Meets::Helper,
        };
        let mut treatment = Treatment::left(port, meets);
        if meets == Meets::Trouble(Trouble::AgentOff)
            && let Some(entry) = self.asked.workload.template.annotation(GATEWAY)
        {
            let said = "the annotation is there, so the probe proxy is off";
            let place = self.asked.workload.object.label_at(entry.key.span(), said);
            treatment.because.push(Reason::written(place));
        }
        treatment.target = Some(self.target(one, action));
        treatment.trail = vec![(
            "endpoint",
            format!(
                "the probe proxy of the sidecar on {} asks 127.0.0.1:{}",
                self.port,
                port.unwrap_or(0)
            ),
        )];
        treatment
    }

    fn target(&self, one: &Each<'_>, action: &Action) -> Target {
        let number = port_of(one).unwrap_or(0);
        let mut headers = Vec::new();
        let add = |headers: &mut Vec<(String, String)>, name: &str, value: String| {
            headers.push((format!("X-Kuma-Probes-{name}"), value));
        };
        let timeout = one.1.timeout_seconds.filter(|seconds| *seconds > 1);
        let path = match action {
            Action::HttpGet(http) => {
                headers.extend(http.headers.iter().map(|(name, value)| {
                    let name = if name == HOST {
                        "X-Kuma-Probes-Host"
                    } else {
                        name
                    };
                    (name.to_owned(), value.clone())
                }));
                if http.scheme != "HTTP" {
                    add(&mut headers, "Scheme", "HTTPS".to_owned());
                }
                format!("/{number}{}", rooted(&http.path))
            }
            Action::Grpc { .. } => format!("/grpc/{number}"),
            _ => format!("/tcp/{number}"),
        };
        if let Some(seconds) = timeout {
            add(&mut headers, "Timeout", seconds.to_string());
        }
        if let Action::Grpc { service, .. } = action
            && !service.is_empty()
        {
            add(&mut headers, "GRPC-Service", service.clone());
        }
        Target {
            path,
            port: self.port,
            scheme: "HTTP",
            headers: Some(headers),
            drops_origin: true,
        }
    }

    /// The probe proxy leaves probes alone.
    fn off(&self, one: &Each<'_>, action: &Action) -> Treatment {
        let port = port_of(one);
        let is_own = |own: i64| own > 0 && port == Some(own);
        let points_at_proxy =
            self.era != Era::Virtual && (is_own(DEFAULT_PORT) || is_own(self.listens));
        if points_at_proxy && matches!(action, Action::HttpGet(_)) {
            let meets = if port == Some(self.listens) {
                Meets::Helper
            } else {
                Meets::Trouble(Trouble::AgentOff)
            };
            return Treatment::left(port, meets);
        }
        if self.era == Era::Three {
            return Treatment::left(port, Meets::Direct);
        }
        if let Action::HttpGet(http) = action
            && self.has_virtual_probes()
        {
            return self.virtual_probe(one, http);
        }
        if let Some(place) = exclusion(self.asked, EXCLUDED_PORTS, port) {
            let mut left = Treatment::left(port, Meets::Direct);
            left.because.push(place);
            return left;
        }
        match action {
            Action::HttpGet(_) => Treatment::left(port, Meets::Unknown),
            Action::Grpc { .. } => Treatment::left(port, Meets::Trouble(Trouble::GrpcAtMtls)),
            _ => Treatment::left(port, Meets::Accepted),
        }
    }

    fn has_virtual_probes(&self) -> bool {
        let entry = self.asked.workload.template.annotation(VIRTUAL_PROBES);
        let written = entry.and_then(|entry| word(entry.value.text()?));
        match self.era {
            Era::Virtual | Era::Both => written != Some(false),
            Era::Proxy => written == Some(true),
            Era::Three => false,
        }
    }

    fn virtual_probe(&self, one: &Each<'_>, http: &HttpGet) -> Treatment {
        let entry = self.asked.workload.template.annotation(VIRTUAL_PORT);
        let written = entry.and_then(|entry| entry.value.text()?.parse().ok());
        let port = port_of(one);
        let meets = match (&http.host, http.scheme.as_str()) {
            (Some(_), _) => Meets::Trouble(Trouble::HostKept),
            (None, "HTTP") => Meets::Application,
            (None, _) => Meets::Trouble(Trouble::PlainListener),
        };
        let mut treatment = Treatment::left(port, meets);
        treatment.target = Some(Target {
            path: format!("/{}{}", port.unwrap_or(0), rooted(&http.path)),
            port: written.unwrap_or(DEFAULT_VIRTUAL_PORT),
            scheme: if http.scheme == "HTTPS" {
                "HTTPS"
            } else {
                "HTTP"
            },
            headers: None,
            drops_origin: false,
        });
        treatment
    }
}

fn rooted(path: &str) -> String {
    let slash = if path.starts_with('/') { "" } else { "/" };
    format!("{slash}{path}")
}
