//! What an unrewritten probe meets behind the sidecar's listener: the filter chain of its port, and the
//! policies.

use crate::context::{Authorization, Context, Doubt, Refusal};
use crate::finding::Certainty;
use crate::kube::Action;
use crate::mesh::Fact;
use crate::mesh::istio::authz::Request;
use crate::mesh::istio::protocol::Protocol;

use super::verdict::Weighing;
use super::{Cause, HandlerPrediction, Outcome, Verdict, WorkloadPrediction};

/// The connection meets the filter chain of the port, which is that of its protocol; in no Service the
/// protocol is detected.
pub(super) fn at_chain<'t>(
    context: &Context<'t>,
    pod: &WorkloadPrediction<'t>,
    (action, port): (&Action, i64),
    protocol: Option<&Fact<Protocol>>,
    mut weighing: Weighing,
) -> Verdict {
    let value = protocol.map_or(Protocol::Auto, |protocol| protocol.value);
    let sure = protocol.map_or(Certainty::Known, |protocol| protocol.certainty);
    let request = request(action, port, value);
    match mismatch(action, value) {
        Some(cause) if !refused_first(context, pod, cause, &request, sure) => {
            if let Some(protocol) = protocol {
                weighing.rests_on(protocol);
            }
            weighing.verdict(Outcome::Fails, cause)
        }
        _ => authorized(context, pod, &request, weighing),
    }
}

/// Tells whether a policy refuses the request before its protocol matters. TLS finds no filter
/// chain and so no policy; plain text meets the policies before anything speaks to the application
/// (measured, `tests/live`).
fn refused_first(
    context: &Context<'_>,
    pod: &WorkloadPrediction<'_>,
    cause: Cause,
    request: &Request,
    sure: Certainty,
) -> bool {
    let authorization = context.authorization(&pod.workload, request);
    cause != Cause::HttpsAtHttpPort
        && authorization.value == Authorization::Denied
        && authorization.certainty >= sure
}

/// The request reaches a filter chain: the policies decide.
fn authorized<'t>(
    context: &Context<'t>,
    pod: &WorkloadPrediction<'t>,
    request: &Request,
    mut weighing: Weighing,
) -> Verdict {
    let authorization = context.authorization(&pod.workload, request);
    let (outcome, cause) = match authorization.value {
        Authorization::Allowed => return weighing.verdict(Outcome::Ok, Cause::Fine),
        Authorization::Denied if request.is_http => (Outcome::Fails, Cause::AuthorizationDenies),
        Authorization::Denied => (Outcome::Fails, Cause::AuthorizationCloses),
        Authorization::Unknown => (Outcome::Unknown, Cause::AuthorizationUnknown),
    };
    weighing.rests_on(&authorization);
    weighing.verdict(outcome, cause)
}

/// Says what refuses the request of a handler; `None` where no AuthorizationPolicy does.
pub(super) fn refusal<'t>(
    context: &Context<'t>,
    pod: &WorkloadPrediction<'t>,
    handler: &HandlerPrediction<'t>,
) -> Option<Refusal<'t>> {
    let refused = matches!(
        handler.verdict.cause,
        Cause::AuthorizationDenies | Cause::AuthorizationCloses
    );
    if !refused {
        return None;
    }
    context.refusal(&pod.workload, &request_of(context, pod, handler)?)
}

/// Says what leaves open whether the request of a handler passes; `None` where nothing does.
pub(super) fn doubt<'t>(
    context: &Context<'t>,
    pod: &WorkloadPrediction<'t>,
    handler: &HandlerPrediction<'t>,
) -> Option<Doubt<'t>> {
    if handler.verdict.cause != Cause::AuthorizationUnknown {
        return None;
    }
    context.doubt(&pod.workload, &request_of(context, pod, handler)?)
}

/// The request of a handler as a policy sees it; `None` for one without a port.
pub(super) fn request_of<'t>(
    context: &Context<'t>,
    pod: &WorkloadPrediction<'t>,
    handler: &HandlerPrediction<'t>,
) -> Option<Request> {
    let action = handler.handler.action.as_ref().ok()?;
    let written = action.port()?.to_string();
    let port = handler.port.or_else(|| written.parse().ok())?;
    let protocol = context.protocol(&pod.workload, port).value;
    Some(request(action, port, protocol))
}

/// The request of a probe as a policy sees it. TLS that is not the mesh's own is passed on as
/// bytes; plain HTTP on a port without a protocol is detected.
fn request(action: &Action, port: i64, protocol: Protocol) -> Request {
    let (method, path, host, is_tls) = match action {
        Action::HttpGet(http) => {
            let path = http
                .path
                .split(['?', '#'])
                .next()
                .unwrap_or_default()
                .to_owned();
            let host = http
                .headers
                .iter()
                .find(|(name, _)| name.eq_ignore_ascii_case("host"));
            (
                "GET",
                path,
                host.map(|(_, value)| value.clone()),
                http.scheme == "HTTPS",
            )
        }
        _ => (
            "POST",
            "/grpc.health.v1.Health/Check".to_owned(),
            None,
            false,
        ),
    };
    let is_http = !is_tls && protocol != Protocol::Tcp;
    Request {
        method,
        path,
        host,
        port,
        is_http,
    }
}

/// Tells whether the filter chain of `protocol` cannot serve the handler.
fn mismatch(action: &Action, protocol: Protocol) -> Option<Cause> {
    match (action, protocol) {
        (Action::HttpGet(http), Protocol::Http | Protocol::Http2) if http.scheme == "HTTPS" => {
            Some(Cause::HttpsAtHttpPort)
        }
        (Action::HttpGet(http), Protocol::Http2) if http.scheme != "HTTPS" => {
            Some(Cause::HttpAtHttp2Port)
        }
        (Action::Grpc { .. }, Protocol::Http) => Some(Cause::GrpcAtHttp1Port),
        _ => None,
    }
}
