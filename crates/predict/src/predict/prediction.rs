//! The prediction for a workload and for each of its handlers.

use std::borrow::Cow;

use meshprobe_mesh::finding::{Assumption, Certainty, sentence_list};
use meshprobe_mesh::kube;
use meshprobe_mesh::kube::{
    Container, HttpGet, Port, Probe, ProbeHandler, Unreadable, Workload, api_rejection,
};
use meshprobe_mesh::mesh::istio::capture::sidecar_port;
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_mesh::mesh::istio::mtls::MtlsMode;
use meshprobe_mesh::mesh::istio::rewrite::{is_agent_path, rewritten_since};
use meshprobe_mesh::mesh::model::Target;
use meshprobe_mesh::mesh::{Fact, Mesh, Reason, Version, model_of};
use meshprobe_tree::source::placeholder;
use meshprobe_yaml::NodeRef;

use super::cause::{Cause, Outcome};
use crate::context::{Dataplane, MeshClaim, PodFacts, ProberEnv, placement};

/// An outcome with its reasons.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The result for the kubelet.
    pub outcome: Outcome,
    /// Why the handler has this outcome.
    pub cause: Cause,
    /// The certainty of the least certain fact that decided.
    pub certainty: Certainty,
    /// The facts that decided, the most important first.
    pub because: Vec<Reason>,
    /// The text that the kubelet prints, if it is known.
    pub kubelet: Option<String>,
}

impl Verdict {
    /// Returns the assumptions, each with the option that settles it.
    #[must_use]
    pub fn assumptions(&self) -> Vec<Assumption> {
        assumptions(&self.because)
    }
}

pub fn assumptions(because: &[Reason]) -> Vec<Assumption> {
    let unwritten = because.iter().filter(|reason| reason.place.is_none());
    let mut assumptions: Vec<Assumption> = Vec::new();
    for reason in unwritten {
        let assumption = |option: Option<&'static str>| Assumption {
            fact: reason.message.clone(),
            option: option.map(Cow::Borrowed),
        };
        if reason.is_assumed_by_user && !assumptions.contains(&assumption(None)) {
            assumptions.push(assumption(None));
        }
        // One line per fact: reasons with one option are one fact.
        let is_new = !assumptions
            .iter()
            .any(|known| known.option.as_deref() == reason.settle);
        if reason.settle.is_some() && is_new {
            assumptions.push(assumption(reason.settle));
        }
    }
    assumptions
}

/// Why a release does not rewrite a handler that later releases rewrite.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnsupportedByRelease {
    /// The first release that rewrites it is a later one.
    Release(Version),
    /// The setting of istiod, up to 1.18, that switches the rewrite of tcpSocket probes off.
    TcpSwitch,
}

/// The handler after the rewrite: always an `httpGet`.
pub type RewrittenHandler = Target;

/// The prediction for one handler.
#[derive(Clone, Debug)]
pub struct HandlerPrediction<'t> {
    /// The container.
    pub container: Container<'t>,
    /// The handler as written.
    pub handler: Probe<'t>,
    /// Whether the injector points it at the agent.
    pub rewritten: bool,
    /// Why the injector does not rewrite it even with the rewrite on, if a later release does.
    pub unsupported: Option<UnsupportedByRelease>,
    /// The port that the handler resolves to, if it does.
    pub port: Option<i64>,
    /// Whether the sidecar captures that port; `None` if it does not matter.
    pub captured: Option<Fact<bool>>,
    /// The mutual TLS mode on that port; `None` if it does not matter.
    pub mtls: Option<Fact<MtlsMode>>,
    /// The handler after the rewrite.
    pub rewritten_to: Option<RewrittenHandler>,
    /// Additional lines of the explanation, for a mesh other than Istio.
    pub explanation: Vec<(&'static str, String)>,
    /// The outcome in another release of Kubernetes, or of a mesh other than Istio, if the release is unknown and matters.
    pub by_other_release: Option<Assumption>,
    /// The outcome with its reasons.
    pub verdict: Verdict,
}

impl<'t> HandlerPrediction<'t> {
    /// Returns the handler's name for messages: "readinessProbe of container `web`".
    #[must_use]
    pub fn title(&self) -> String {
        handler_title(self.handler.slot.key(), self.container.name())
    }

    /// Returns the port for a message: a quoted number counts as the number, and 0 means no port.
    #[must_use]
    pub fn port_for_message(&self) -> i64 {
        let action = self.handler.action.as_ref().ok();
        let written = || action?.port()?.to_string().parse().ok();
        self.port.or_else(written).unwrap_or_default()
    }

    /// Returns why the API server refuses the handler; `None` if it accepts it, or if a value has the
    /// wrong type.
    #[must_use]
    pub fn api_rejection(&self) -> Option<kube::ApiRejection> {
        // This cause takes precedence over all others.
        let is_refused = self.verdict.cause == Cause::Malformed;
        is_refused
            .then(|| kube::api_rejection(&self.container, &self.handler))
            .flatten()
    }

    /// Returns the host of the handler after the rewrite. A webhook keeps the host of an `httpGet`, unless the mesh
    /// removes it; the rewrite of another kind of handler has none.
    #[must_use]
    pub fn rewritten_host(&self) -> Option<&str> {
        let keeps_host = self
            .rewritten_to
            .as_ref()
            .is_some_and(|to| !to.drops_origin);
        let http = self.http_get().filter(|_| keeps_host)?;
        http.host.as_deref().filter(|host| !host.is_empty())
    }

    /// Returns the headers of the handler after the rewrite: those that the webhook writes, or else those of the
    /// `httpGet`, which the webhook keeps.
    #[must_use]
    pub fn rewritten_headers(&self) -> &[(String, String)] {
        let Some(rewritten_to) = &self.rewritten_to else {
            return &[];
        };
        let kept = || self.http_get().map(|http| &http.headers);
        let headers = rewritten_to.headers.as_ref().or_else(kept);
        headers.map_or(&[], Vec::as_slice)
    }

    /// Returns the `httpGet` as it is written.
    fn http_get(&self) -> Option<&HttpGet> {
        match &self.handler.action {
            Ok(ProbeHandler::HttpGet(http)) => Some(http),
            _ => None,
        }
    }

    /// Returns whether the handler sets the header `Host`, which the kubelet finds in any capitalization.
    #[must_use]
    pub fn sends_host_header(&self) -> bool {
        let headers = self.http_get().map_or(&[][..], |http| &http.headers);
        let is_host = |(name, value): &(String, String)| {
            name.eq_ignore_ascii_case("Host") && !value.is_empty()
        };
        headers.iter().any(is_host)
    }

    /// Returns the path of the agent that the written handler requests; `None` if it requests another
    /// path.
    #[must_use]
    pub fn agent_path(&self) -> Option<&str> {
        let path = self.http_get()?.path.as_str();
        is_agent_path(path).then_some(path)
    }
}

/// The prediction for one workload.
#[derive(Clone, Debug)]
pub struct WorkloadPrediction<'t> {
    /// The workload.
    pub workload: Workload<'t>,
    /// Whether findings about it are reported.
    pub is_target: bool,
    /// Its namespace, if the manifest, an option or its deployment sets it.
    pub namespace: Option<String>,
    /// Its mesh; `None` if there is no mesh.
    pub mesh: Fact<Option<Mesh>>,
    /// The meshes that inject it, that of `mesh` first; empty if not several do.
    pub claims: Vec<MeshClaim>,
    /// How it takes part in the mesh.
    pub dataplane: Fact<Dataplane>,
    /// Whether it passes through the injector. Otherwise a sidecar can only come from its manifest.
    pub passes_injector: bool,
    /// Whether the injector rewrites its probes, if it passes through the injector.
    pub rewrite: Fact<bool>,
    /// The release of the mesh that injects it; `None` means the latest.
    pub release: Fact<Option<Version>>,
    /// The port that rewritten probes target.
    pub status_port: Fact<i64>,
    /// The port on which the agent listens.
    pub agent_port: Fact<i64>,
    /// Whether the sidecar captures the status port; `None` without a sidecar.
    pub status_port_captured: Option<Fact<bool>>,
    /// The prober env that the manifest contains.
    pub prober_env: Option<ProberEnv>,
    /// The annotation for which the injector refuses the pod; `None` if it does not refuse it.
    pub refused: Option<Fact<()>>,
    /// Why the agent does not start with this prober env; `None` if it starts.
    pub prober_env_fault: Option<ProberEnvFault>,
    /// What the injector does to the prober env.
    pub reinjection: Reinjection,
    /// Its probes and hooks.
    pub handlers: Vec<HandlerPrediction<'t>>,
}

impl<'t> WorkloadPrediction<'t> {
    /// Returns whether no handler has the outcome `unknown`.
    #[must_use]
    pub fn has_all_verdicts(&self) -> bool {
        self.handlers
            .iter()
            .all(|handler| handler.verdict.outcome != Outcome::Unknown)
    }

    /// Returns the name of the workload, with its namespace if one is written.
    pub fn full_name(&self) -> String {
        let title = self.workload.title();
        match &self.namespace {
            Some(namespace) => format!("{namespace}/{title}"),
            None => title,
        }
    }

    /// Returns the application port that a handler checks. The prober env contains the port of a
    /// pre-rewritten handler.
    #[must_use]
    pub fn application_port(&self, handler: &HandlerPrediction<'_>) -> Option<i64> {
        match handler.agent_path() {
            Some(path) => self.prober_env.as_ref()?.port_of(path),
            None => handler.port,
        }
    }

    /// Returns whether the manifest contains any part of a rewrite made ahead of deployment: a handler
    /// with a path of the agent, readable or not, or the name of the prober env anywhere. How such a
    /// pod behaves depends on the combination of all its parts.
    #[must_use]
    pub fn is_prerewritten(&self) -> bool {
        let path = |handler: &Probe<'_>| {
            let path = handler.node.get("httpGet")?.get("path")?;
            path.text().map(is_agent_path)
        };
        let holds_env = self
            .workload
            .object
            .node
            .source()
            .contains(keys::PROBERS_ENV);
        let mut handlers = self.handlers.iter();
        self.prober_env.is_some()
            || holds_env
            || handlers.any(|prediction| path(&prediction.handler).unwrap_or(false))
    }
}

/// Returns what the sidecar uses a port of the pod for; `None` for a port of the application.
#[must_use]
pub fn port_owner(pod: &WorkloadPrediction<'_>, port: i64) -> Option<&'static str> {
    if pod.dataplane.value == Dataplane::Other {
        let model = model_of(pod.mesh.value?)?;
        return model.port_owner(&pod.workload, pod.release.value, port);
    }
    if pod.dataplane.value != Dataplane::Sidecar {
        return None;
    }
    let agent = (port == pod.agent_port.value).then_some("its agent");
    sidecar_port(port).or(agent)
}

/// Returns whether the release rewrites this handler. The latest is assumed for an unknown release.
pub(in crate::predict) fn is_supported<'t>(
    facts: &PodFacts<'_, 't>,
    pod: &WorkloadPrediction<'t>,
    container: &Container<'t>,
    handler: &Probe<'t>,
) -> bool {
    let action = handler.action.as_ref().ok();
    action.is_some_and(|action| rewritten_since(action, handler.slot, container.list).is_some())
        && unsupported_by_release(facts, pod, container, handler).is_none()
}

/// Returns why the release does not rewrite a handler that a later release rewrites.
pub(in crate::predict) fn unsupported_by_release<'t>(
    facts: &PodFacts<'_, 't>,
    pod: &WorkloadPrediction<'t>,
    container: &Container<'t>,
    handler: &Probe<'t>,
) -> Option<UnsupportedByRelease> {
    let action = handler.action.as_ref().ok()?;
    let release = pod.release.value?;
    let since = rewritten_since(action, handler.slot, container.list)?;
    if release < since {
        return Some(UnsupportedByRelease::Release(since));
    }
    // Releases 1.12 to 1.18 have this setting.
    let has_switch =
        matches!(action, ProbeHandler::TcpSocket { .. }) && release < Version::new(1, 19);
    let switch = has_switch.then(|| facts.rewrites_tcp());
    let is_off = switch.flatten().is_some_and(|on| !on.value);
    is_off.then_some(UnsupportedByRelease::TcpSwitch)
}

/// Returns the start of a sentence that names the meshes which inject a pod: "each of Linkerd and Istio injects its
/// proxy".
#[must_use]
pub fn injecting_meshes(pod: &WorkloadPrediction<'_>) -> String {
    let titles = |is_certain: bool| -> Vec<&str> {
        let claims = pod.claims.iter();
        let claims = claims.filter(|claim| claim.is_certain == is_certain);
        claims.map(|claim| claim.mesh.title()).collect()
    };
    let certain = titles(true);
    let mut text = match certain.as_slice() {
        [mesh] => format!("{mesh} injects its proxy"),
        meshes => format!("each of {} injects its proxy", sentence_list(meshes)),
    };
    let others = titles(false);
    if !others.is_empty() {
        text.push_str(&format!(
            ", and {} may inject its own,",
            sentence_list(&others)
        ));
    }
    text
}

/// Returns what to do about a pod that several meshes inject.
#[must_use]
pub fn how_to_judge_for_rivals(pod: &WorkloadPrediction<'_>) -> String {
    let option = |claim: &MeshClaim| format!("`--mesh {}`", claim.mesh.as_str());
    let options: Vec<String> = pod.claims.iter().skip(1).map(option).collect();
    format!(
        "keep one mesh for the pods; {} judges them for another one",
        options.join(" or ")
    )
}

/// Returns the verdict of a handler that cannot be read or that the API server refuses; `None` for all
/// others.
pub(in crate::predict) fn unreadable(
    workload: &Workload<'_>,
    handler: &HandlerPrediction<'_>,
) -> Option<Verdict> {
    let (outcome, cause, span, message) = match &handler.handler.action {
        Err(Unreadable::Placeholder(span)) => {
            let place = workload.object.placeholder_at(*span, "fills in this value");
            (Outcome::Unknown, Cause::Placeholder, *span, place.message)
        }
        Err(Unreadable::Malformed(error)) => {
            let message = error.message.clone();
            (Outcome::Refused, Cause::Malformed, error.span, message)
        }
        Ok(_) => {
            let rejection = api_rejection(&handler.container, &handler.handler)?;
            let span = handler.handler.field_span(rejection.field);
            (Outcome::Refused, Cause::Malformed, span, rejection.reason)
        }
    };
    let mut builder = VerdictBuilder::new();
    builder.depends_on(&Fact::known((), workload.object.label_at(span, message)));
    Some(builder.verdict(outcome, cause))
}

/// Replaces the verdicts of probes without a handler in an object of an operator: the operator may add the handler, for
/// example if it merges the object over a preset.
pub(in crate::predict) fn leave_to_operator<'t>(
    workload: &Workload<'t>,
    handlers: &mut [HandlerPrediction<'t>],
) {
    let Some(assumption) = placement(workload) else {
        return;
    };
    let without_handler = handlers.iter_mut().filter(|handler| {
        handler.handler.written == 0 && handler.verdict.cause == Cause::Malformed
    });
    for handler in without_handler {
        let mut builder = VerdictBuilder::new();
        builder.depends_on(&assumption);
        handler.verdict = builder.verdict(Outcome::Unknown, Cause::MissingHandler);
    }
}

/// Returns the value of a verdict that is not decided yet.
pub(in crate::predict) const fn undecided() -> Verdict {
    Verdict {
        outcome: Outcome::Unknown,
        cause: Cause::MeshUnknown,
        certainty: Certainty::Unknown,
        because: Vec::new(),
        kubelet: None,
    }
}

/// Builds a verdict and collects the facts that it depends on.
#[derive(Clone)]
pub(in crate::predict) struct VerdictBuilder {
    certainty: Certainty,
    because: Vec<Reason>,
}

impl VerdictBuilder {
    pub(in crate::predict) const fn new() -> Self {
        Self {
            certainty: Certainty::Known,
            because: Vec::new(),
        }
    }

    /// Adds a fact that the verdict depends on.
    pub(in crate::predict) fn depends_on<T>(&mut self, fact: &Fact<T>) {
        self.certainty = self.certainty.min(fact.certainty);
        for reason in &fact.because {
            if !self.because.contains(reason) {
                self.because.push(reason.clone());
            }
        }
    }

    /// Returns the verdict, with the certainty of the least certain fact.
    pub(in crate::predict) fn verdict(self, outcome: Outcome, cause: Cause) -> Verdict {
        let Self { certainty, because } = self;
        Verdict {
            outcome,
            cause,
            certainty,
            because,
            kubelet: None,
        }
    }
}

/// Returns the name of a handler: "readinessProbe of container `web`".
#[must_use]
pub fn handler_title(slot: &str, container: &str) -> String {
    format!("{slot} of container `{container}`")
}

/// Returns a port as it is written. A number that is a string is in quotes, because it is the name of a port.
#[must_use]
pub fn port_text(port: &Port) -> String {
    match port {
        Port::Number(number) => number.to_string(),
        Port::Name(name) if is_quoted_number(name) => format!("\"{name}\""),
        Port::Name(name) => name.clone(),
    }
}

/// Returns the port of a check of virtual machines as it is written, like [`port_text`].
#[must_use]
pub fn port_node_text(port: NodeRef<'_>) -> String {
    match port.as_str() {
        Some(name) => port_text(&Port::Name(name.to_owned())),
        None => port.text().unwrap_or_default().to_owned(),
    }
}

/// Returns whether the name of a port is a number in quotes.
#[must_use]
pub fn is_quoted_number(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns a handler as it is written: `http :8080/healthz`.
#[must_use]
pub fn handler_text(handler: &Probe<'_>) -> String {
    match &handler.action {
        Ok(ProbeHandler::HttpGet(http)) => {
            let host = http.host.as_deref().unwrap_or_default();
            http_text(&http.scheme, host, &port_text(&http.port), &http.path)
        }
        Ok(ProbeHandler::TcpSocket { port, host }) => {
            tcp_text(host.as_deref().unwrap_or_default(), &port_text(port))
        }
        Ok(ProbeHandler::Grpc { port, service }) => grpc_text(&port.to_string(), service),
        Ok(action) => action.key().to_owned(),
        Err(_) => "unreadable".to_owned(),
    }
}

/// Returns a handler after the rewrite, with the host that it keeps: `http :15020/app-health/web/readyz`.
#[must_use]
pub fn rewritten_text(handler: &Target, host: Option<&str>) -> String {
    let (host, port) = (host.unwrap_or_default(), handler.port.to_string());
    http_text(handler.scheme, host, &port, &handler.path)
}

pub(in crate::predict) fn http_text(scheme: &str, host: &str, port: &str, path: &str) -> String {
    // The kubelet adds the slash that a path lacks.
    let slash = match path.starts_with('/') || placeholder::contains(path) {
        true => "",
        false => "/",
    };
    format!("{} {host}:{port}{slash}{path}", scheme.to_ascii_lowercase())
}

pub(in crate::predict) fn tcp_text(host: &str, port: &str) -> String {
    format!("tcp {host}:{port}")
}

pub(in crate::predict) fn grpc_text(port: &str, service: &str) -> String {
    format!("grpc :{port} {service}").trim_end().to_owned()
}

/// How the injector changes the prober env of the manifest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reinjection {
    /// The env is unchanged.
    Untouched,
    /// The injector adds recorded probes to the env; existing entries take precedence.
    Merged,
    /// The injector appends its own env, and the last of two takes effect.
    Replaced,
    /// The injector drops recorded probes, because the container has no env to which it could add them.
    Dropped,
}

/// Why the agent refuses its prober env, so that it does not start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProberEnvFault {
    /// An entry, or the whole value, is invalid.
    Invalid {
        /// The path of the entry; `None` for the whole value.
        path: Option<String>,
        /// What is wrong: the end of a sentence that starts with "its entry `path`", or a complete one.
        why: String,
    },
    /// The release does not support the path of a hook.
    Hook {
        /// The path.
        path: String,
    },
}
