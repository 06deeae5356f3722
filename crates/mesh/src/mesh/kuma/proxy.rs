//! How the probe proxy, or the virtual probes before it, treat each probe.

use meshprobe_yaml::NodeRef;

use super::faults;
use super::injection::{native_sidecars, parse_pairs, parse_switch, parse_uint};
use super::keys::{
    DEFAULT_PORT, EXCLUDED_PORTS, GATEWAY, PORT_ENV, PROXY_PORT, SIDECAR, SIDECAR_ENV,
    VIRTUAL_PORT, VIRTUAL_PROBES,
};
use crate::kube::{ContainerList, HttpGet, ProbeHandler, Workload};
use crate::mesh::model::{
    HandlerRef, PodInput, ProbeDestination, ProbeTreatment, Target, exclusion, port_of,
};
use crate::mesh::{Fact, Reason, Version, shared_faults};

const DEFAULT_VIRTUAL_PORT: i64 = 9000;
const HOST: &str = "Host";

/// Ranges of releases that treat probes in the same way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Era {
    /// Up to 2.8.
    Virtual,
    /// 2.9 to 2.12: virtual probes are used if the proxy is off.
    Both,
    /// 2.13 and 2.14: virtual probes are off by default.
    Proxy,
    /// 3: no virtual probes; if the proxy is off, ports of probes are excluded from traffic capture.
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

/// The settings of a pod for its probe proxy, from its annotations.
struct ProxyPorts {
    era: Era,
    port: i64,
    listens: i64,
    gateway: Option<bool>,
    virtual_probes: bool,
}

impl ProxyPorts {
    fn of(workload: &Workload<'_>, release: Option<Version>) -> Self {
        let template = &workload.template;
        let text = |key: &str| template.annotation(key)?.value.text();
        let gateway = text(GATEWAY).map(|value| parse_switch(value).unwrap_or(true));
        let era = Era::of(release);
        let written = text(PROXY_PORT).and_then(parse_uint);
        let port = match (era, gateway, written) {
            (Era::Virtual, ..) | (_, Some(true), _) => 0,
            // Without the ConfigMap of the transparent proxy, which is off by default until 2.14, the existence of the
            // annotation decides (`SetApplicationProbeProxyPortAnnotation`); with it, and in 3, its value.
            (Era::Both | Era::Proxy, Some(false), _) => 0,
            // `virtual-probes: disabled` also switches the proxy off, up to 2.12.
            (Era::Both, _, None) if text(VIRTUAL_PROBES).and_then(parse_switch) == Some(false) => 0,
            (_, _, Some(port)) => i64::from(port),
            (_, _, None) => DEFAULT_PORT,
        };
        // The env depends on the existence of the annotation, the rewrite on its value.
        let by_rewrite = if gateway.is_some() { 0 } else { port };
        // The webhook does not trim names, and the last of several values applies.
        let forced = text(SIDECAR_ENV).and_then(|all| {
            let pairs = parse_pairs(all)?;
            let (_, value) = pairs.iter().rfind(|(name, _)| *name == PORT_ENV)?;
            value.trim().parse().ok()
        });
        Self {
            era,
            port,
            listens: forced.unwrap_or(by_rewrite),
            gateway,
            virtual_probes: has_virtual_probes(era, gateway, text(VIRTUAL_PROBES), written),
        }
    }
}

/// Returns whether virtual probes are on, which have an effect only if the probe proxy is off. Since 2.13, the proxy port 0
/// turns them on, whatever their own annotation contains.
///
/// Source: `SetVirtualProbesEnabledAnnotation` of v2.12.14, v2.13.0 and v2.14.3.
fn has_virtual_probes(
    era: Era,
    gateway: Option<bool>,
    annotation: Option<&str>,
    proxy_port: Option<u32>,
) -> bool {
    let written = annotation.and_then(parse_switch);
    match era {
        _ if gateway == Some(true) => false,
        Era::Virtual | Era::Both => written != Some(false),
        Era::Proxy => written == Some(true) || proxy_port == Some(0),
        Era::Three => false,
    }
}

/// Returns the port on which the sidecar of an injected pod listens for probes; `None` if it does not
/// listen.
#[must_use]
pub(super) fn probe_port(workload: &Workload<'_>, release: Option<Version>) -> Option<i64> {
    let ports = ProxyPorts::of(workload, release);
    (ports.era != Era::Virtual && ports.listens > 0).then_some(ports.listens)
}

/// The probe proxy of a pod.
pub(super) struct ProbeProxy<'a, 't> {
    input: &'a PodInput<'a, 't>,
    era: Era,
    /// The port that rewritten probes target; 0 if probes are not rewritten.
    pub(super) port: i64,
    /// The port on which the sidecar listens for them; 0 if it does not.
    listens: i64,
    /// The annotation `kuma.io/gateway`, if it is set.
    pub(super) gateway: Option<bool>,
    virtual_probes: bool,
    /// Whether the sidecar is a native one.
    pub(super) native: Fact<bool>,
}

impl<'a, 't> ProbeProxy<'a, 't> {
    pub(super) fn of(input: &'a PodInput<'a, 't>) -> Self {
        let ProxyPorts {
            era,
            port,
            listens,
            gateway,
            virtual_probes,
        } = ProxyPorts::of(input.workload, input.release);
        Self {
            input,
            era,
            port,
            listens,
            gateway,
            virtual_probes,
            native: native_sidecars(input),
        }
    }

    /// Returns whether the release is 3 or later.
    pub(super) fn is_three(&self) -> bool {
        self.era == Era::Three
    }

    /// Returns whether a probe makes the webhook reject the pod: the webhook would rewrite it, and it targets the port that
    /// the webhook would write.
    pub(super) fn refuses(&self, handler: &HandlerRef<'_>) -> bool {
        let is_rewritten = handler.0.list != ContainerList::Init || self.native.value;
        let written = match handler.1.action {
            _ if self.port > 0 => Some(self.port),
            Ok(ProbeHandler::HttpGet(_)) if self.virtual_probes => Some(self.virtual_port()),
            _ => None,
        };
        let is_reserved = written.is_some_and(|written| port_of(handler) == Some(written));
        is_rewritten && is_reserved && !handler.1.slot.is_lifecycle()
    }

    /// Judges a handler of a pod that the webhook rejects.
    pub(super) fn refuse(&self, handler: &HandlerRef<'_>) -> ProbeTreatment {
        let destination = if self.refuses(handler) {
            ProbeDestination::Fault(&faults::POD_REFUSED)
        } else {
            ProbeDestination::Nothing
        };
        ProbeTreatment::unchanged(port_of(handler), destination)
    }

    /// Judges a handler of a pod that was injected before it was written down.
    pub(super) fn injected_already(&self, handler: &HandlerRef<'_>) -> ProbeTreatment {
        let port = port_of(handler);
        let Ok(Some(_)) = handler.1.action.as_ref().map(ProbeHandler::port) else {
            return ProbeTreatment::unchanged(port, ProbeDestination::Nothing);
        };
        let is_http = matches!(handler.1.action, Ok(ProbeHandler::HttpGet(_)));
        let written = self.sidecar_port();
        let listens = written.unwrap_or(self.listens);
        let has_proxy = written.is_some() || self.era != Era::Virtual;
        let points_at_proxy =
            has_proxy_path(handler) && (port == Some(DEFAULT_PORT) || port == Some(self.port));
        if is_http && listens > 0 && port == Some(listens) {
            return ProbeTreatment::unchanged(port, ProbeDestination::Helper);
        }
        if points_at_proxy && listens == 0 && has_proxy {
            return ProbeTreatment::unchanged(port, ProbeDestination::Fault(&faults::AGENT_OFF));
        }
        let mut treatment = ProbeTreatment::unchanged(port, ProbeDestination::Unknown);
        if let Some(place) = exclusion(self.input, EXCLUDED_PORTS, port) {
            treatment.destination = ProbeDestination::Direct;
            treatment.because.push(place);
        } else if is_http && port == Some(DEFAULT_VIRTUAL_PORT) && self.era != Era::Three {
            treatment.destination = ProbeDestination::Application;
        }
        treatment
    }

    /// Returns the port on which the sidecar of the manifest is configured to listen.
    fn sidecar_port(&self) -> Option<i64> {
        let containers = self.input.workload.template.containers();
        let sidecar = containers
            .iter()
            .find(|container| container.name() == SIDECAR)?;
        let env = sidecar.node.get("env")?;
        let variable = env
            .items()
            .find(|variable| variable.get("name").and_then(NodeRef::text) == Some(PORT_ENV))?;
        variable.get("value")?.text()?.trim().parse().ok()
    }

    /// Judges a handler of a pod that the webhook injects.
    pub(super) fn treatments(&self, handler: &HandlerRef<'_>) -> ProbeTreatment {
        let port = port_of(handler);
        let Some(action) = handler
            .1
            .action
            .as_ref()
            .ok()
            .filter(|action| action.port().is_some())
        else {
            return ProbeTreatment::unchanged(port, ProbeDestination::Nothing);
        };
        if handler.1.slot.is_lifecycle() {
            let mut treatment = ProbeTreatment::unchanged(port, ProbeDestination::Unknown);
            if let Some(place) = exclusion(self.input, EXCLUDED_PORTS, port) {
                treatment.destination = ProbeDestination::Direct;
                treatment.because.push(place);
            } else if action.host().is_some() {
                treatment.destination = ProbeDestination::Elsewhere;
            }
            return treatment;
        }
        let native = (handler.0.list == ContainerList::Init).then_some(&self.native);
        let is_left = native.is_some_and(|native| !native.value);
        let mut treatment = match self.port > 0 {
            _ if is_left => {
                ProbeTreatment::unchanged(port, ProbeDestination::Fault(&faults::SIDECAR_LEFT))
            }
            true => self.rewritten(handler, action),
            false => self.without_proxy(handler, action),
        };
        if let Some(native) = native {
            treatment.depend_on(native);
        }
        treatment
    }

    fn rewritten(&self, handler: &HandlerRef<'_>, action: &ProbeHandler) -> ProbeTreatment {
        let port = port_of(handler);
        let destination = match action {
            _ if self.listens != self.port => ProbeDestination::Fault(&faults::AGENT_OFF),
            _ if action.host().is_some() => ProbeDestination::Fault(&faults::HTTP_HOST_LOST),
            ProbeHandler::HttpGet(http) if http.headers.iter().any(|(name, _)| name == HOST) => {
                ProbeDestination::Fault(&faults::HOST_HEADER_LOST)
            }
            _ => ProbeDestination::Helper,
        };
        let mut treatment = ProbeTreatment::unchanged(port, destination);
        if destination == ProbeDestination::Fault(&faults::AGENT_OFF)
            && let Some(entry) = self.input.workload.template.annotation(GATEWAY)
        {
            let message = "the annotation is set, so the probe proxy is off";
            let place = self
                .input
                .workload
                .object
                .label_at(entry.key.span(), message);
            treatment.because.push(Reason::written(place));
        }
        treatment.target = Some(self.target(handler, action));
        treatment.explanation = vec![(
            "endpoint",
            format!(
                "the probe proxy of the sidecar on {} sends the request to 127.0.0.1:{}",
                self.port,
                port.unwrap_or(0)
            ),
        )];
        treatment
    }

    fn target(&self, handler: &HandlerRef<'_>, action: &ProbeHandler) -> Target {
        let number = port_of(handler).unwrap_or(0);
        let mut headers = Vec::new();
        let add = |headers: &mut Vec<(String, String)>, name: &str, value: String| {
            headers.push((format!("X-Kuma-Probes-{name}"), value));
        };
        let timeout = handler.1.timeout_seconds.filter(|seconds| *seconds > 1);
        let path = match action {
            ProbeHandler::HttpGet(http) => {
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
            ProbeHandler::Grpc { .. } => format!("/grpc/{number}"),
            _ => format!("/tcp/{number}"),
        };
        if let Some(seconds) = timeout {
            add(&mut headers, "Timeout", seconds.to_string());
        }
        if let ProbeHandler::Grpc { service, .. } = action
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

    /// Judges a probe that the probe proxy does not handle because it is off.
    fn without_proxy(&self, handler: &HandlerRef<'_>, action: &ProbeHandler) -> ProbeTreatment {
        let port = port_of(handler);
        if let ProbeHandler::HttpGet(http) = action
            && self.virtual_probes
        {
            return self.virtual_probe(handler, http);
        }
        let is_http = matches!(action, ProbeHandler::HttpGet(_));
        if self.era != Era::Virtual && is_http && self.listens > 0 && port == Some(self.listens) {
            return ProbeTreatment::unchanged(port, ProbeDestination::Helper);
        }
        // A port of the application may have the same number: only the path shows that a probe was rewritten.
        if self.era != Era::Virtual && port == Some(DEFAULT_PORT) && has_proxy_path(handler) {
            let destination = ProbeDestination::Fault(&faults::AGENT_OFF);
            return ProbeTreatment::unchanged(port, destination);
        }
        // The traffic of gateways is not captured.
        if self.gateway == Some(true) || self.era == Era::Three && self.is_excluded(port) {
            return ProbeTreatment::unchanged(port, ProbeDestination::Direct);
        }
        if let Some(place) = exclusion(self.input, EXCLUDED_PORTS, port) {
            let mut treatment = ProbeTreatment::unchanged(port, ProbeDestination::Direct);
            treatment.because.push(place);
            return treatment;
        }
        match action {
            ProbeHandler::HttpGet(_) => ProbeTreatment::unchanged(port, ProbeDestination::Unknown),
            ProbeHandler::Grpc { .. } => ProbeTreatment::unchanged(
                port,
                ProbeDestination::Fault(&shared_faults::GRPC_AT_MTLS),
            ),
            _ => ProbeTreatment::unchanged(port, ProbeDestination::Accepted),
        }
    }

    /// Returns whether the webhook of 3 excludes the port of a probe from traffic capture. It reads the ports before it adds
    /// its sidecar, so it finds only those of main containers (`RealProbePorts`).
    fn is_excluded(&self, port: Option<i64>) -> bool {
        let template = &self.input.workload.template;
        template
            .containers_in(ContainerList::Main)
            .iter()
            .any(|container| {
                container
                    .handlers()
                    .into_iter()
                    .filter(|handler| !handler.slot.is_lifecycle())
                    .any(|handler| port_of(&(container.clone(), handler)) == port)
            })
    }

    fn virtual_port(&self) -> i64 {
        let entry = self.input.workload.template.annotation(VIRTUAL_PORT);
        let written = entry.and_then(|entry| parse_uint(entry.value.text()?));
        written.map_or(DEFAULT_VIRTUAL_PORT, i64::from)
    }

    fn virtual_probe(&self, handler: &HandlerRef<'_>, http: &HttpGet) -> ProbeTreatment {
        let port = port_of(handler);
        let destination = match (&http.host, http.scheme.as_str()) {
            (Some(_), _) => ProbeDestination::Fault(&shared_faults::HOST_KEPT),
            (None, "HTTP") => ProbeDestination::Application,
            (None, _) => ProbeDestination::Fault(&shared_faults::HTTPS_AT_PLAIN_LISTENER),
        };
        let mut treatment = ProbeTreatment::unchanged(port, destination);
        treatment.target = Some(Target {
            path: format!("/{}{}", port.unwrap_or(0), rooted(&http.path)),
            port: self.virtual_port(),
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

/// Returns whether a probe has a path of the probe proxy: `/8080/ready`, `/tcp/8080` or `/grpc/8080`.
///
/// Source: Kuma v2.14.3, `pkg/plugins/runtime/k8s/probes/probe.go`.
fn has_proxy_path(handler: &HandlerRef<'_>) -> bool {
    let Ok(ProbeHandler::HttpGet(http)) = &handler.1.action else {
        return false;
    };
    let path = http.path.trim_start_matches('/');
    let rest = ["tcp/", "grpc/"]
        .iter()
        .find_map(|kind| path.strip_prefix(kind));
    let port = rest.unwrap_or(path).split('/').next().unwrap_or_default();
    port.parse::<u16>().is_ok()
}

fn rooted(path: &str) -> String {
    let slash = if path.starts_with('/') { "" } else { "/" };
    format!("{slash}{path}")
}
