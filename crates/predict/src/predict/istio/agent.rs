//! Decides the outcome of handlers that the agent in the sidecar answers.

use meshprobe_mesh::finding::Certainty;
use meshprobe_mesh::kube::{Container, Port, Probe, ProbeHandler, Slot};
use meshprobe_mesh::mesh::Fact;
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_mesh::mesh::istio::keys::DEFAULT_STATUS_PORT;
use meshprobe_mesh::mesh::istio::mtls::MtlsMode;
use meshprobe_mesh::mesh::istio::rewrite::{HOST_HEADER_DROPPED, agent_path};
use meshprobe_yaml::NodeRef;

use crate::context::{PodFacts, UnreadableProberEnv};
use crate::predict::cause::{Cause, Outcome};
use crate::predict::go_url::PathMisread;
use crate::predict::prediction::{
    HandlerPrediction, Reinjection, Verdict, VerdictBuilder, WorkloadPrediction,
};

/// Decides for a handler that points at the agent in the manifest.
pub(in crate::predict) fn prerewritten<'t>(
    facts: &PodFacts<'_, 't>,
    pod: &WorkloadPrediction<'t>,
    handler: &HandlerPrediction<'t>,
    action: &ProbeHandler,
    mut builder: VerdictBuilder,
) -> Verdict {
    let (ProbeHandler::HttpGet(http), Some(port)) = (action, handler.port) else {
        return builder.verdict(Outcome::Unknown, Cause::MeshUnknown);
    };
    if pod.passes_injector {
        builder.depends_on(&pod.rewrite);
    }
    let env = pod.prober_env.as_ref();
    let unread = env.and_then(|env| env.probers.as_ref().err());
    if let Some(UnreadableProberEnv::Elsewhere(_)) = unread {
        return builder.verdict(Outcome::Unknown, Cause::Placeholder);
    }
    let has = |path: &str| {
        let probers = env.and_then(|env| env.probers.as_ref().ok());
        probers.is_some_and(|probers| probers.contains_key(path))
    };
    let expires = |path: &str| env.is_some_and(|env| env.expires_at_once(path));
    if handler.rewritten {
        // The injector overwrites path and port.
        let path = agent_path(handler.container.name(), handler.handler.slot);
        if let Some(cause) = reinjected(facts, pod, port, has(&path), &mut builder) {
            return builder.verdict(Outcome::Fails, cause);
        }
        if expires(&path) {
            return builder.verdict(Outcome::Fails, Cause::AgentTimeoutZero);
        }
        return at_agent(facts, pod, handler, builder);
    }
    if !has(&http.path) {
        return builder.verdict(Outcome::Fails, Cause::RewrittenWithoutEntry);
    }
    if http.host.is_some() {
        return builder.verdict(Outcome::Fails, Cause::HostKept);
    }
    if http.scheme == "HTTPS" {
        return builder.verdict(Outcome::Fails, Cause::HttpsAtAgent);
    }
    if port != pod.agent_port.value {
        builder.depends_on(&pod.agent_port);
        return builder.verdict(Outcome::Fails, Cause::RewrittenOtherPort);
    }
    if expires(&http.path) {
        return builder.verdict(Outcome::Fails, Cause::AgentTimeoutZero);
    }
    let captured = facts.capture(port);
    reached(facts, pod, handler, (port, captured), builder)
}

/// Returns why a pre-rewritten probe fails after a second injection, in a pod without the opt-out;
/// `None` if it works. The injector considers a probe of the mesh's status port as rewritten. It records
/// a probe of any other port like one of the application, under the URL that it requests.
fn reinjected<'t>(
    facts: &PodFacts<'_, 't>,
    pod: &WorkloadPrediction<'t>,
    port: i64,
    has_entry: bool,
    builder: &mut VerdictBuilder,
) -> Option<Cause> {
    let mesh_port = facts.mesh_status_port();
    let is_done = port == mesh_port.value;
    match pod.reinjection {
        Reinjection::Replaced if is_done && has_entry => Some(Cause::EntryReplaced),
        Reinjection::Untouched | Reinjection::Merged if has_entry => None,
        Reinjection::Dropped if !is_done => {
            builder.depends_on(&pod.release);
            Some(Cause::EntryDropped)
        }
        _ if is_done => Some(Cause::RewrittenWithoutEntry),
        _ => {
            builder.depends_on(&mesh_port);
            builder.depends_on(&pod.status_port);
            if port == pod.status_port.value {
                Some(Cause::AgentCallsItself)
            } else {
                Some(Cause::RewrittenOtherPort)
            }
        }
    }
}

/// Decides for a request to the status port: whether the agent listens there and can be reached.
///
/// Three settings decide about three ports: the target, the port of the agent and the port that the
/// capture excludes. If they disagree, every rewritten probe of the pod fails.
fn at_agent<'t>(
    facts: &PodFacts<'_, 't>,
    pod: &WorkloadPrediction<'t>,
    handler: &HandlerPrediction<'t>,
    mut builder: VerdictBuilder,
) -> Verdict {
    let target = pod.status_port.value;
    if !(1..=65535).contains(&target) {
        builder.depends_on(&pod.status_port);
        return builder.verdict(Outcome::Refused, Cause::StatusPortZero);
    }
    let captured = pod.status_port_captured.clone();
    let captured = captured.unwrap_or_else(|| facts.capture(target));
    if pod.agent_port.value == target {
        return reached(facts, pod, handler, (target, captured), builder);
    }
    builder.depends_on(&pod.status_port);
    builder.depends_on(&pod.agent_port);
    builder.verdict(Outcome::Fails, Cause::StatusPortMismatch)
}

/// Decides for a request to the agent's `port`: the capture must exclude it, or accept plain text.
fn reached<'t>(
    facts: &PodFacts<'_, 't>,
    pod: &WorkloadPrediction<'t>,
    handler: &HandlerPrediction<'t>,
    (port, captured): (i64, Fact<bool>),
    mut builder: VerdictBuilder,
) -> Verdict {
    let slot = (&handler.container, handler.handler.slot);
    let native = comes_first(slot).then(|| facts.sidecar_is_native());
    if let Some(native) = &native
        && !native.value
    {
        builder.depends_on(native);
        return builder.verdict(Outcome::Fails, Cause::BeforeSidecar);
    }
    if captured.value {
        let mtls = facts.mtls(port);
        if mtls.certainty == Certainty::Unknown {
            builder.depends_on(&mtls);
            return builder.verdict(Outcome::Unknown, Cause::Placeholder);
        }
        if mtls.value == MtlsMode::Strict {
            builder.depends_on(&pod.agent_port);
            builder.depends_on(&facts.excluded_port());
            if port == i64::from(DEFAULT_STATUS_PORT) {
                // The CNI plugin would exclude it.
                builder.depends_on(&facts.cni());
            }
            builder.depends_on(&captured);
            builder.depends_on(&mtls);
            if let Some(filter) = facts.inbound_filter() {
                builder.depends_on(&filter);
            }
            return builder.verdict(Outcome::Fails, Cause::StatusPortCaptured);
        }
    }
    if let Some(native) = &native {
        builder.depends_on(native);
    }
    if pod.release.value.is_some() && handler.sends_host_header() {
        let dropped = facts.has(&HOST_HEADER_DROPPED);
        if dropped.value {
            builder.depends_on(&pod.release);
            return builder.verdict(Outcome::TargetChanged, Cause::HostHeaderDropped);
        }
        if HOST_HEADER_DROPPED.depends_on_patch(pod.release.value) {
            builder.depends_on(&dropped);
        }
    }
    builder.verdict(Outcome::Ok, Cause::Rewritten)
}

/// Decides for a handler that the injector points at the agent.
pub(in crate::predict) fn rewritten<'t>(
    facts: &PodFacts<'_, 't>,
    pod: &WorkloadPrediction<'t>,
    handler: &HandlerPrediction<'t>,
    action: &ProbeHandler,
    resolved: Result<i64, Cause>,
    mut builder: VerdictBuilder,
) -> Verdict {
    builder.depends_on(&pod.rewrite);
    let Ok(port) = resolved else {
        return builder.verdict(Outcome::Fails, Cause::PortQuoted);
    };
    let is_marked = pod.workload.template.annotation(keys::STATUS).is_some();
    if is_marked && pod.reinjection == Reinjection::Dropped {
        builder.depends_on(&pod.release);
        return builder.verdict(Outcome::Fails, Cause::EntryDropped);
    }
    if port == facts.mesh_status_port().value {
        let by_name = matches!(action.port(), Some(Port::Name(_)));
        let connects = by_name && matches!(action, ProbeHandler::TcpSocket { .. });
        let outcome = if connects {
            // The injector records a name, so the agent connects to itself.
            Outcome::AlwaysPasses
        } else {
            Outcome::Fails
        };
        return builder.verdict(outcome, Cause::PortOfAgent);
    }
    match action {
        ProbeHandler::HttpGet(http) if http.host.is_some() => {
            builder.verdict(Outcome::Fails, Cause::HostKept)
        }
        ProbeHandler::TcpSocket { host: Some(_), .. } => {
            builder.verdict(Outcome::TargetChanged, Cause::HostDropped)
        }
        ProbeHandler::HttpGet(http) if let Some(misread) = PathMisread::of(&http.path) => {
            builder.verdict(outcome_of(&misread), Cause::PathMisread)
        }
        _ => match unsupported_protocol(&handler.handler) {
            Some(protocol) => {
                if let Some(assumption) = protocol.assumption() {
                    builder.depends_on(&assumption);
                }
                builder.verdict(Outcome::Fails, Cause::ProtocolUnsupported)
            }
            None => at_agent(facts, pod, handler, builder),
        },
    }
}

/// Returns the outcome of a probe with a path that the agent reads differently. An application does not serve a path
/// that contains a scheme, but it may serve one with a host in front.
fn outcome_of(misread: &PathMisread<'_>) -> Outcome {
    if misread.agent().is_none() || misread.has_scheme() {
        Outcome::Fails
    } else {
        Outcome::TargetChanged
    }
}

/// A protocol that the agent does not support.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnsupportedProtocol {
    /// `httpGet.protocol: HTTP2`.
    Http2,
    /// `grpc.mode: TLS`.
    GrpcTls,
}

impl UnsupportedProtocol {
    /// Returns the field that sets the protocol.
    #[must_use]
    pub const fn field(self) -> &'static str {
        match self {
            Self::Http2 => "protocol",
            Self::GrpcTls => "mode",
        }
    }

    /// Returns what must hold for the probe to fail; `None` if it fails in any case.
    pub(in crate::predict) fn assumption(self) -> Option<Fact<()>> {
        let message = "the application does not accept HTTP/1.1, because its probe requires HTTP/2";
        (self == Self::Http2).then(|| Fact::assumed((), message, None))
    }
}

/// Returns the protocol of a probe that the agent does not support.
#[must_use]
pub fn unsupported_protocol(probe: &Probe<'_>) -> Option<UnsupportedProtocol> {
    let action = probe.action.as_ref().ok()?;
    let protocol = match action {
        ProbeHandler::HttpGet(_) => UnsupportedProtocol::Http2,
        ProbeHandler::Grpc { .. } => UnsupportedProtocol::GrpcTls,
        _ => return None,
    };
    let node = probe.node.get(action.key())?;
    let value = node.get(protocol.field()).and_then(NodeRef::text)?;
    let is_set = match protocol {
        UnsupportedProtocol::Http2 => value == "HTTP2",
        UnsupportedProtocol::GrpcTls => value == "TLS",
    };
    is_set.then_some(protocol)
}

/// A handler: its container and slot.
pub(in crate::predict) type HandlerSlot<'h, 't> = (&'h Container<'t>, Slot);

/// Returns whether a handler runs before the containers that follow an init container.
pub(in crate::predict) fn comes_first((container, slot): HandlerSlot<'_, '_>) -> bool {
    slot == Slot::Startup && container.is_native_sidecar()
}

/// Returns whether the sidecar, or the capture for it, receives the request of a handler that is not rewritten. A startup
/// probe may pass before the capture starts.
pub(in crate::predict) fn capture<'t>(
    facts: &PodFacts<'_, 't>,
    handler: HandlerSlot<'_, 't>,
    port: i64,
) -> Fact<bool> {
    let captured = facts.capture(port);
    if !captured.value {
        return captured;
    }
    let before = capture_before_sidecar(facts, handler);
    before.filter(|before| !before.value).unwrap_or(captured)
}

/// Returns the verdict of a handler whose request is captured before the sidecar starts; `None` for others.
pub(in crate::predict) fn captured_too_early<'t>(
    facts: &PodFacts<'_, 't>,
    handler: HandlerSlot<'_, 't>,
    mut builder: VerdictBuilder,
) -> Option<Verdict> {
    let before = capture_before_sidecar(facts, handler)?;
    builder.depends_on(&before);
    let fails = || builder.verdict(Outcome::Fails, Cause::BeforeSidecar);
    before.value.then(fails)
}

fn capture_before_sidecar<'t>(
    facts: &PodFacts<'_, 't>,
    handler: HandlerSlot<'_, 't>,
) -> Option<Fact<bool>> {
    let (container, _) = handler;
    comes_first(handler)
        .then(|| facts.capture_before_sidecar(container.name()))
        .flatten()
}
