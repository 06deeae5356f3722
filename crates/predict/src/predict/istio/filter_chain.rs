//! Decides the outcome of a captured, unrewritten probe: by the filter chain of its port and by
//! policies.

use meshprobe_mesh::finding::Certainty;
use meshprobe_mesh::kube::ProbeHandler;
use meshprobe_mesh::mesh::Fact;
use meshprobe_mesh::mesh::istio::authz::Request;
use meshprobe_mesh::mesh::istio::mtls::Protocol;

use crate::context::{Authorization, AuthzDenial, Context, PodFacts, UndecidablePolicy};
use crate::predict::cause::{Cause, Outcome};
use crate::predict::prediction::{HandlerPrediction, Verdict, VerdictBuilder, WorkloadPrediction};

/// Decides by the filter chain of the port, which its protocol selects. Without a Service, the sidecar
/// detects the protocol.
pub(in crate::predict) fn decide_at_filter_chain(
    facts: &PodFacts<'_, '_>,
    (action, port): (&ProbeHandler, i64),
    protocol: Option<&Fact<Protocol>>,
    mut builder: VerdictBuilder,
) -> Verdict {
    let value = protocol.map_or(Protocol::Auto, |protocol| protocol.value);
    let sure = protocol.map_or(Certainty::Known, |protocol| protocol.certainty);
    let request = request(action, port, value);
    match mismatch(action, value) {
        Some(cause) if !is_denied_first(facts, cause, &request, sure) => {
            if let Some(protocol) = protocol {
                builder.depends_on(protocol);
            }
            builder.verdict(Outcome::Fails, cause)
        }
        _ => by_policies(facts, &request, builder),
    }
}

/// Returns whether a policy denies the request before its protocol matters. TLS matches no filter chain,
/// so no policy applies to it. Policies apply to plain text before the sidecar connects to the
/// application (measured, `tests/live`).
fn is_denied_first(
    facts: &PodFacts<'_, '_>,
    cause: Cause,
    request: &Request,
    sure: Certainty,
) -> bool {
    let authorization = facts.authorization(request);
    cause != Cause::HttpsAtHttpPort
        && authorization.value == Authorization::Denied
        && authorization.certainty >= sure
}

/// Decides by the policies, for a request that matches a filter chain.
fn by_policies(
    facts: &PodFacts<'_, '_>,
    request: &Request,
    mut builder: VerdictBuilder,
) -> Verdict {
    let authorization = facts.authorization(request);
    let (outcome, cause) = match authorization.value {
        Authorization::Allowed => return builder.verdict(Outcome::Ok, Cause::Forwarded),
        Authorization::Denied if request.is_http => (Outcome::Fails, Cause::AuthorizationDenies),
        Authorization::Denied => (Outcome::Fails, Cause::AuthorizationCloses),
        Authorization::Unknown => (Outcome::Unknown, Cause::AuthorizationUnknown),
    };
    builder.depends_on(&authorization);
    builder.verdict(outcome, cause)
}

/// Returns what denies the request of a handler; `None` if no AuthorizationPolicy denies it.
pub(in crate::predict) fn authz_denial<'t>(
    context: &Context<'t>,
    pod: &WorkloadPrediction<'t>,
    handler: &HandlerPrediction<'t>,
) -> Option<AuthzDenial<'t>> {
    let refused = matches!(
        handler.verdict.cause,
        Cause::AuthorizationDenies | Cause::AuthorizationCloses
    );
    if !refused {
        return None;
    }
    context
        .pod_facts(&pod.workload)
        .authorization_denial(&request_of(context, pod, handler)?)
}

/// Returns what leaves open whether the request of a handler passes; `None` if this is decided.
pub(in crate::predict) fn undecidable_policy<'t>(
    context: &Context<'t>,
    pod: &WorkloadPrediction<'t>,
    handler: &HandlerPrediction<'t>,
) -> Option<UndecidablePolicy<'t>> {
    if handler.verdict.cause != Cause::AuthorizationUnknown {
        return None;
    }
    context
        .pod_facts(&pod.workload)
        .undecidable_policy(&request_of(context, pod, handler)?)
}

/// Returns the request of a handler as policies see it; `None` for a handler without a port.
pub(in crate::predict) fn request_of<'t>(
    context: &Context<'t>,
    pod: &WorkloadPrediction<'t>,
    handler: &HandlerPrediction<'t>,
) -> Option<Request> {
    let action = handler.handler.action.as_ref().ok()?;
    let written = action.port()?.to_string();
    let port = handler.port.or_else(|| written.parse().ok())?;
    let protocol = context.services(&pod.workload).protocol(port).value;
    Some(request(action, port, protocol))
}

/// Returns the request of a probe as policies see it. The sidecar forwards TLS that is not the mesh's own
/// as bytes, and detects plain HTTP on a port without a protocol.
fn request(action: &ProbeHandler, port: i64, protocol: Protocol) -> Request {
    let (method, path, host, is_tls) = match action {
        ProbeHandler::HttpGet(http) => {
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

/// Returns why the filter chain of `protocol` cannot serve the handler; `None` if it can.
fn mismatch(action: &ProbeHandler, protocol: Protocol) -> Option<Cause> {
    match (action, protocol) {
        (ProbeHandler::HttpGet(http), Protocol::Http | Protocol::Http2)
            if http.scheme == "HTTPS" =>
        {
            Some(Cause::HttpsAtHttpPort)
        }
        (ProbeHandler::HttpGet(http), Protocol::Http2) if http.scheme != "HTTPS" => {
            Some(Cause::HttpAtHttp2Port)
        }
        (ProbeHandler::Grpc { .. }, Protocol::Http) => Some(Cause::GrpcAtHttp1Port),
        _ => None,
    }
}

impl<'t> HandlerPrediction<'t> {
    /// Returns whether the sidecar parses the request of the unrewritten handler as HTTP, instead of
    /// forwarding it as bytes.
    #[must_use]
    pub fn is_seen_as_http(&self, context: &Context<'t>, pod: &WorkloadPrediction<'t>) -> bool {
        crate::predict::istio::filter_chain::request_of(context, pod, self)
            .is_some_and(|request| request.is_http)
    }

    /// Returns which AuthorizationPolicy denies the handler of `pod`, and why; `None` if the verdict has
    /// another cause.
    #[must_use]
    pub fn authz_denial(
        &self,
        context: &Context<'t>,
        pod: &WorkloadPrediction<'t>,
    ) -> Option<AuthzDenial<'t>> {
        crate::predict::istio::filter_chain::authz_denial(context, pod, self)
    }

    /// Returns which AuthorizationPolicy leaves open whether the handler of `pod` passes, and the value
    /// that this depends on; `None` if the verdict has another cause.
    #[must_use]
    pub fn undecidable_policy(
        &self,
        context: &Context<'t>,
        pod: &WorkloadPrediction<'t>,
    ) -> Option<UndecidablePolicy<'t>> {
        crate::predict::istio::filter_chain::undecidable_policy(context, pod, self)
    }
}
