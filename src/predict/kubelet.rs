//! The texts the kubelet prints, measured with the prober of Kubernetes 1.36; pod and node
//! addresses are written `<pod>` and `<node>`.

use crate::kube::{Action, HttpGet, Port};
use crate::mesh::istio::mtls::MtlsMode;

use super::hazard::is_url;
use super::{Cause, HandlerPrediction, Outcome, Verdict, WorkloadPrediction};

/// Returns the event text of a probe; hooks were not measured.
pub(super) fn text(
    verdict: &Verdict,
    pod: &WorkloadPrediction<'_>,
    handler: &HandlerPrediction<'_>,
    action: &Action,
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
        // The injector records nothing for the probe but points it at the agent all the same.
        return Some(if handler.rewritten {
            format!("{word} probe failed: HTTP probe failed with statuscode: 400")
        } else {
            let quoted = format!("{port:?}", port = port.to_string());
            format!(
                "{word} probe errored and resulted in unknown state: \
                 strconv.Atoi: parsing {quoted}: invalid syntax"
            )
        });
    }
    if verdict.outcome == Outcome::AlwaysPasses {
        return None;
    }
    let cause = failure(verdict.cause, pod, handler, action, port)?;
    Some(format!("{word} probe failed: {cause}"))
}

fn failure(
    cause: Cause,
    pod: &WorkloadPrediction<'_>,
    handler: &HandlerPrediction<'_>,
    action: &Action,
    written: &Port,
) -> Option<String> {
    let seconds = handler.handler.timeout_seconds.unwrap_or(1);
    let becomes = handler.becomes.as_ref();
    let agent_path = becomes.map_or("", |becomes| becomes.path.as_str());
    // The kubelet takes a number in quotes for the number.
    let quoted = || written.to_string().parse().ok();
    let port = handler.port.or_else(quoted).unwrap_or_default();
    Some(match (cause, action) {
        (Cause::PlaintextAtStrict, Action::HttpGet(http)) => format!(
            "Get \"{}\": read tcp <node>-><pod>:{port}: read: connection reset by peer",
            url(http, port)
        ),
        (Cause::PlaintextAtStrict, Action::Grpc { .. }) => format!(
            "timeout: failed to connect service \"<pod>:{port}\" within {seconds}s: \
             context deadline exceeded"
        ),
        (Cause::HttpsAtStrict, Action::HttpGet(http)) => format!(
            "Get \"{}\": write tcp <node>-><pod>:{port}: write: broken pipe",
            url(http, port)
        ),
        // Without mutual TLS the port has no filter chain for TLS: Envoy answers what it takes for
        // broken HTTP.
        (Cause::HttpsAtHttpPort, Action::HttpGet(http)) if is_disabled(handler) => format!(
            "Get \"{}\": http: server gave HTTP response to HTTPS client",
            url(http, port)
        ),
        (Cause::GrpcAtHttp1Port, _) => "error: health rpc probe failed: rpc error: \
             code = Unavailable desc = upstream connect error or disconnect/reset before headers. \
             reset reason: protocol error"
            .to_owned(),
        (Cause::HttpsAtHttpPort, Action::HttpGet(http)) => format!(
            "Get \"{}\": read tcp <node>-><pod>:{port}: read: connection reset by peer",
            url(http, port)
        ),
        (Cause::HttpAtHttp2Port, _) => "HTTP probe failed with statuscode: 502".to_owned(),
        (Cause::NetworkPolicyDenies, Action::HttpGet(http)) => format!(
            "Get \"{}\": context deadline exceeded (Client.Timeout exceeded while awaiting headers)",
            url(http, port)
        ),
        (Cause::AuthorizationDenies, Action::HttpGet(_)) => {
            "HTTP probe failed with statuscode: 403".to_owned()
        }
        (Cause::AuthorizationDenies, _) => "error: health rpc probe failed: rpc error: \
             code = PermissionDenied desc = RBAC: access denied"
            .to_owned(),
        (Cause::AuthorizationCloses, Action::HttpGet(http)) => {
            format!("Get \"{}\": EOF", url(http, port))
        }
        (Cause::HostKept, Action::HttpGet(http)) => {
            let host = http.host.as_deref().unwrap_or_default();
            let agent = pod.status_port.value;
            format!(
                "Get \"http://{host}:{agent}{agent_path}\": dial tcp {host}:{agent}: \
                 connect: connection refused"
            )
        }
        // A captured port without a listener is answered by the sidecar: not measured.
        (Cause::StatusPortMismatch, _) if is_captured(pod) => return None,
        (Cause::StatusPortMismatch, _) => {
            let agent = pod.status_port.value;
            format!(
                "Get \"http://<pod>:{agent}{agent_path}\": dial tcp <pod>:{agent}: \
                 connect: connection refused"
            )
        }
        (Cause::StatusPortCaptured, _) => {
            let url = asked(handler, action);
            let agent = becomes.map_or(port, |becomes| becomes.port);
            format!("Get \"{url}\": read tcp <node>-><pod>:{agent}: read: connection reset by peer")
        }
        (Cause::AgentTimeoutZero, _) => "HTTP probe failed with statuscode: 500".to_owned(),
        (Cause::PathMisread, Action::HttpGet(http)) => {
            let status = if is_url(&http.path) { 404 } else { 500 };
            format!("HTTP probe failed with statuscode: {status}")
        }
        (Cause::BeforeSidecar, _) => {
            let url = asked(handler, action);
            let agent = becomes.map_or(port, |becomes| becomes.port);
            format!("Get \"{url}\": dial tcp <pod>:{agent}: connect: connection refused")
        }
        (Cause::PortOfAgent, _) => {
            let code = agent_of_itself(action, written);
            format!("HTTP probe failed with statuscode: {code}")
        }
        // Nobody is there to miss the entry.
        (Cause::RewrittenWithoutEntry, Action::HttpGet(http))
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
        // The agent asks the pod on the port that was written, where nobody listens.
        (Cause::RewrittenOtherPort, _) if handler.rewritten => {
            "HTTP probe failed with statuscode: 500".to_owned()
        }
        (Cause::AgentRefusesEnv, _) if handler.rewritten || handler.agent_path().is_some() => {
            let agent = becomes.map_or(port, |becomes| becomes.port);
            refused(&asked(handler, action), agent)
        }
        (Cause::RewrittenWithoutSidecar | Cause::RewrittenOtherPort, Action::HttpGet(http)) => {
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

/// What the agent answers when a handler asks for its own port. A number is left out of the prober
/// env, so the path is unknown; a port name is recorded, and the agent asks itself for a path that
/// it does not serve; gRPC has no such check, and the agent speaks none.
/// Source: Istio 1.31, `pkg/kube/inject/app_probe.go`, `pilot/cmd/pilot-agent/status/server.go`.
const fn agent_of_itself(action: &Action, written: &Port) -> u16 {
    match (action, written) {
        (Action::Grpc { .. }, _) => 500,
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

/// The URL at the agent: what the injector makes of the handler, or what is written.
fn asked(handler: &HandlerPrediction<'_>, action: &Action) -> String {
    match (&handler.becomes, action) {
        (Some(becomes), _) => format!("http://<pod>:{}{}", becomes.port, becomes.path),
        (None, Action::HttpGet(http)) => url(http, handler.port.unwrap_or_default()),
        (None, _) => String::new(),
    }
}

fn url(http: &HttpGet, port: i64) -> String {
    let scheme = http.scheme.to_ascii_lowercase();
    let slash = if http.path.starts_with('/') { "" } else { "/" };
    format!("{scheme}://<pod>:{port}{slash}{}", http.path)
}
