//! The prediction for a workload and for each of its handlers.

use meshprobe_mesh::finding::Certainty;
use meshprobe_mesh::kube;
use meshprobe_mesh::kube::{Container, HttpGet, Probe, ProbeHandler, Workload};
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_mesh::mesh::istio::mtls::MtlsMode;
use meshprobe_mesh::mesh::istio::rewrite::is_agent_path;
use meshprobe_mesh::mesh::model::Target;
use meshprobe_mesh::mesh::{Fact, Mesh, Reason, Version};

use crate::context::{Dataplane, MeshClaim, ProberEnv};
use crate::predict::cause::Cause;
use crate::predict::istio::prober_env_fault::{ProberEnvFault, Reinjection};
use crate::predict::outcome::Outcome;
use crate::predict::words::handler_title;

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
    pub fn assumptions(&self) -> Vec<String> {
        assumptions(&self.because)
    }
}

pub fn assumptions(because: &[Reason]) -> Vec<String> {
    let unwritten = because.iter().filter(|reason| reason.place.is_none());
    let mut settled: Vec<&str> = Vec::new();
    let mut assumptions = Vec::new();
    for reason in unwritten {
        if reason.is_assumed_by_user && !assumptions.contains(&reason.message) {
            assumptions.push(reason.message.clone());
        }
        // One line per fact: reasons with one option are one fact.
        let Some(settle) = reason.settle.filter(|option| !settled.contains(option)) else {
            continue;
        };
        settled.push(settle);
        assumptions.push(format!("{} [{settle}]", reason.message));
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
    pub by_other_release: Option<String>,
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
