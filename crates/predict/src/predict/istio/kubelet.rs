//! The texts that the kubelet prints, measured with the prober of Kubernetes 1.36. `<pod>` and `<node>`
//! represent the addresses of pod and node.

use meshprobe_mesh::kube::{HttpGet, Port, ProbeHandler};
use meshprobe_mesh::mesh::Version;
use meshprobe_mesh::mesh::istio::mtls::MtlsMode;

use crate::context::Context;
use crate::predict::cause::{Cause, Outcome};
use crate::predict::go_url::{PathMisread, failed_request};
use crate::predict::prediction::{HandlerPrediction, Verdict, WorkloadPrediction};

/// The first release of Kubernetes whose kubelet does not parse a port name as a number.
const NAMES_ONLY: Version = Version::new(1, 37);

/// Returns the event text of a failing probe; `None` for other outcomes and for hooks, which were not
/// measured.
///
/// A port name that is not declared has another text since Kubernetes 1.37. `node-version` selects it; the default is
/// that of 1.36. Measured with the prober of 1.37.2 (`docs/live-proof.md`); source: `findPortByName` in its
/// `pkg/probe/util.go`.
pub(in crate::predict) fn text(
    context: &Context<'_>,
    verdict: &Verdict,
    pod: &WorkloadPrediction<'_>,
    handler: &HandlerPrediction<'_>,
    action: &ProbeHandler,
    port: &Port,
) -> Option<String> {
    let slot = handler.handler.slot;
    if slot.is_lifecycle() {
        return None;
    }
    let word = slot.kubelet_word();
    if matches!(
        verdict.cause,
        Cause::PortUnresolved | Cause::PortOfOtherContainer
    ) {
        // The injector points the probe at the agent, but does not record it.
        return Some(if handler.rewritten {
            format!("{word} probe failed: HTTP probe failed with statuscode: 400")
        } else {
            let quoted = format!("{port:?}", port = port.to_string());
            let error = if resolves_names_only(context, pod) {
                format!("port {quoted} not found")
            } else {
                format!("strconv.Atoi: parsing {quoted}: invalid syntax")
            };
            format!("{word} probe errored and resulted in unknown state: {error}")
        });
    }
    let is_fault_hidden = verdict.outcome == Outcome::AlwaysPasses
        || (verdict.outcome == Outcome::TargetChanged && verdict.cause == Cause::PathMisread);
    if is_fault_hidden {
        return None;
    }
    let cause = failure(verdict.cause, pod, handler, action, port)?;
    Some(format!("{word} probe failed: {cause}"))
}

/// Returns whether the nodes run a release that does not parse a port name as a number, as far as an option states it.
fn resolves_names_only(context: &Context<'_>, pod: &WorkloadPrediction<'_>) -> bool {
    let facts = context.user_facts(&pod.workload.object);
    let version = facts.overrides.node_version.or(facts.assume.node_version);
    version.is_some_and(|version| version >= NAMES_ONLY)
}

fn failure(
    cause: Cause,
    pod: &WorkloadPrediction<'_>,
    handler: &HandlerPrediction<'_>,
    action: &ProbeHandler,
    written: &Port,
) -> Option<String> {
    let seconds = handler.handler.timeout_seconds.unwrap_or(1);
    let rewritten_to = handler.rewritten_to.as_ref();
    let agent_path = rewritten_to.map_or("", |rewritten_to| rewritten_to.path.as_str());
    // The kubelet reads a quoted number as a number, up to Kubernetes 1.36.
    let quoted = || written.to_string().parse().ok();
    let port = handler.port.or_else(quoted).unwrap_or_default();
    Some(match (cause, action) {
        (Cause::PlaintextAtStrict, ProbeHandler::HttpGet(http)) => format!(
            "Get \"{}\": read tcp <node>-><pod>:{port}: read: connection reset by peer",
            url(http, port)
        ),
        (Cause::PlaintextAtStrict, ProbeHandler::Grpc { .. }) => format!(
            "timeout: failed to connect service \"<pod>:{port}\" within {seconds}s: \
             context deadline exceeded"
        ),
        (Cause::HttpsAtStrict, ProbeHandler::HttpGet(http)) => format!(
            "Get \"{}\": write tcp <node>-><pod>:{port}: write: broken pipe",
            url(http, port)
        ),
        // Without mutual TLS the port has no filter chain for TLS: Envoy parses the TLS bytes as invalid
        // HTTP and answers.
        (Cause::HttpsAtHttpPort, ProbeHandler::HttpGet(http)) if is_disabled(handler) => format!(
            "Get \"{}\": http: server gave HTTP response to HTTPS client",
            url(http, port)
        ),
        (Cause::GrpcAtHttp1Port, _) => "error: health rpc probe failed: rpc error: \
             code = Unavailable desc = upstream connect error or disconnect/reset before headers. \
             reset reason: protocol error"
            .to_owned(),
        (Cause::HttpsAtHttpPort, ProbeHandler::HttpGet(http)) => format!(
            "Get \"{}\": read tcp <node>-><pod>:{port}: read: connection reset by peer",
            url(http, port)
        ),
        (Cause::HttpAtHttp2Port, _) => "HTTP probe failed with statuscode: 502".to_owned(),
        (Cause::NetworkPolicyDenies | Cause::NetworkPluginDrops, ProbeHandler::HttpGet(http)) => {
            format!(
                "Get \"{}\": context deadline exceeded (Client.Timeout exceeded while awaiting headers)",
                url(http, port)
            )
        }
        (Cause::AuthorizationDenies, ProbeHandler::HttpGet(_)) => {
            "HTTP probe failed with statuscode: 403".to_owned()
        }
        (Cause::AuthorizationDenies, _) => "error: health rpc probe failed: rpc error: \
             code = PermissionDenied desc = RBAC: access denied"
            .to_owned(),
        (Cause::AuthorizationCloses, ProbeHandler::HttpGet(http)) => {
            format!("Get \"{}\": EOF", url(http, port))
        }
        (Cause::HostKept, ProbeHandler::HttpGet(http)) => {
            let host = http.host.as_deref().unwrap_or_default();
            let agent = pod.status_port.value;
            format!(
                "Get \"http://{host}:{agent}{agent_path}\": dial tcp {host}:{agent}: \
                 connect: connection refused"
            )
        }
        // The sidecar answers on a captured port without a listener: not measured.
        (Cause::StatusPortMismatch, _) if is_captured(pod) => return None,
        (Cause::StatusPortMismatch, _) => {
            let agent = pod.status_port.value;
            format!(
                "Get \"http://<pod>:{agent}{agent_path}\": dial tcp <pod>:{agent}: \
                 connect: connection refused"
            )
        }
        (Cause::StatusPortCaptured, _) => {
            let url = agent_url(handler, action);
            let agent = rewritten_to.map_or(port, |rewritten_to| rewritten_to.port);
            format!("Get \"{url}\": read tcp <node>-><pod>:{agent}: read: connection reset by peer")
        }
        (Cause::AgentTimeoutZero, _) => "HTTP probe failed with statuscode: 500".to_owned(),
        (Cause::PathWithoutHost, ProbeHandler::HttpGet(http)) => return failed_request(http),
        (Cause::PathMisread, ProbeHandler::HttpGet(http)) => {
            let misread = PathMisread::of(&http.path)?;
            let status = if misread.agent().is_none() { 500 } else { 404 };
            format!("HTTP probe failed with statuscode: {status}")
        }
        // The request is redirected to a port on which nothing listens yet: not measured.
        (Cause::BeforeSidecar, _) if rewritten_to.is_none() && handler.agent_path().is_none() => {
            return None;
        }
        (Cause::BeforeSidecar, _) => {
            let url = agent_url(handler, action);
            let agent = rewritten_to.map_or(port, |rewritten_to| rewritten_to.port);
            format!("Get \"{url}\": dial tcp <pod>:{agent}: connect: connection refused")
        }
        (Cause::PortOfAgent, _) => {
            let code = status_of_self_check(action, written);
            format!("HTTP probe failed with statuscode: {code}")
        }
        // No agent listens on the port, so the missing entry does not matter.
        (Cause::RewrittenWithoutEntry, ProbeHandler::HttpGet(http))
            if !handler.rewritten && port != pod.agent_port.value =>
        {
            refused(&url(http, port), port)
        }
        (
            Cause::PortQuoted
            | Cause::RewrittenWithoutEntry
            | Cause::EntryReplaced
            | Cause::EntryDropped,
            _,
        ) => "HTTP probe failed with statuscode: 400".to_owned(),
        // The agent checks the written port of the pod, on which no process listens.
        (Cause::RewrittenOtherPort, _) if handler.rewritten => {
            "HTTP probe failed with statuscode: 500".to_owned()
        }
        (Cause::AgentRefusesEnv, _) if handler.rewritten || handler.agent_path().is_some() => {
            let agent = rewritten_to.map_or(port, |rewritten_to| rewritten_to.port);
            refused(&agent_url(handler, action), agent)
        }
        (
            Cause::RewrittenWithoutSidecar | Cause::RewrittenOtherPort,
            ProbeHandler::HttpGet(http),
        ) => {
            format!(
                "Get \"{}\": dial tcp <pod>:{port}: connect: connection refused",
                url(http, port)
            )
        }
        _ => return None,
    })
}

fn refused(url: &str, port: i64) -> String {
    format!("Get \"{url}\": dial tcp <pod>:{port}: connect: connection refused")
}

/// Returns the status with which the agent answers a handler for its own port. The injector does not
/// record a number, so the agent does not know the path. It records a port name, so the agent requests a
/// path from itself that it does not serve. It also records gRPC, which the agent does not serve.
/// Source: Istio 1.31, `pkg/kube/inject/app_probe.go`, `pilot/cmd/pilot-agent/status/server.go`.
const fn status_of_self_check(action: &ProbeHandler, written: &Port) -> u16 {
    match (action, written) {
        (ProbeHandler::Grpc { .. }, _) => 500,
        (_, Port::Name(_)) => 404,
        _ => 400,
    }
}

fn is_disabled(handler: &HandlerPrediction<'_>) -> bool {
    let mtls = handler.mtls.as_ref();
    mtls.is_some_and(|mtls| mtls.value == MtlsMode::Disable)
}

fn is_captured(pod: &WorkloadPrediction<'_>) -> bool {
    let captured = pod.status_port_captured.as_ref();
    captured.is_some_and(|captured| captured.value)
}

/// Returns the URL of the agent that the handler requests, after the rewrite or as written.
fn agent_url(handler: &HandlerPrediction<'_>, action: &ProbeHandler) -> String {
    match (&handler.rewritten_to, action) {
        (Some(rewritten_to), _) => {
            format!("http://<pod>:{}{}", rewritten_to.port, rewritten_to.path)
        }
        (None, ProbeHandler::HttpGet(http)) => url(http, handler.port.unwrap_or_default()),
        (None, _) => String::new(),
    }
}

fn url(http: &HttpGet, port: i64) -> String {
    let scheme = http.scheme.to_ascii_lowercase();
    let slash = if http.path.starts_with('/') { "" } else { "/" };
    format!("{scheme}://<pod>:{port}{slash}{}", http.path)
}
