//! Rules about probes that reach the sidecar because they are not rewritten.

use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::kube::{ContainerList, ProbeHandler, Slot};
use meshprobe_mesh::mesh::{Mesh, Version, shared_faults};
use meshprobe_predict::context::Dataplane;
use meshprobe_predict::predict::{
    Cause, HandlerPrediction, Outcome, UnsupportedByRelease, WorkloadPrediction,
};

use crate::rules::support::enable_rewrite;
use crate::rules::{Rule, RuleContext};

crate::rules::rule::rules! {
    GRPC_PROBE_ON_HTTP1_SERVICE_PORT = "grpc-probe-on-http1-service-port", Error, fix: Sometimes, scope: Workloads,
        grpc_probe_on_http1_service_port;
    HTTP_PROBE_ON_HTTP2_SERVICE_PORT = "http-probe-on-http2-service-port", Warning, fix: Sometimes, scope: Workloads,
        http_probe_on_http2_service_port;
    HTTPS_PROBE_ON_HTTP_SERVICE_PORT = "https-probe-on-http-service-port", Error, fix: Sometimes, scope: Workloads,
        https_probe_on_http_service_port;
    HTTPS_PROBE_PLAIN_LISTENER = "https-probe-plain-listener", Error, fix: None, scope: Workloads,
        |cx| cx.each_handler(https_probe_plain_listener);
    HTTPS_PROBE_STRICT = "https-probe-strict", Error, fix: Sometimes, scope: Workloads, https_probe_strict;
    TCP_PROBE_ALWAYS_PASSES = "tcp-probe-always-passes", Error, fix: Sometimes, scope: Workloads,
        tcp_probe_always_passes;
    GRPC_PROBE_NEEDS_1_13 = "grpc-probe-needs-1-13", Error, fix: None, scope: Workloads, grpc_probe_needs_1_13;
    INIT_PROBE_NEEDS_1_19 = "init-probe-needs-1-19", Error, fix: None, scope: Workloads, init_probe_needs_1_19;
    REWRITE_OFF_BEFORE_1_6 = "rewrite-off-before-1-6", Warning, fix: Always, scope: Workloads,
        rewrite_off_before_1_6;
    STRICT_PROBE_NOT_REWRITTEN = "strict-probe-not-rewritten", Error, fix: Sometimes, scope: Workloads,
        strict_probe_not_rewritten;
    TCP_PROBE_NEEDS_1_12 = "tcp-probe-needs-1-12", Error, fix: None, scope: Workloads, tcp_probe_needs_1_12;
    LIFECYCLE_HOOK_STRICT = "lifecycle-hook-strict", Error, fix: Sometimes, scope: Workloads,
        check_lifecycle_hook_strict;
}

fn grpc_probe_on_http1_service_port(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.handlers()
        .filter(|(_, handler)| {
            handler.verdict.cause == Cause::GrpcAtHttp1Port && protocol_decides(handler)
        })
        .map(|(pod, handler)| {
            let message = format!(
                "{} will fail: {} declares port {} as HTTP, so the sidecar sends HTTP/1.1 to the gRPC server",
                handler.title(),
                declaring_service(cx, pod, handler),
                handler.port.unwrap_or_default(),
            );
            let help = "name the Service port `grpc-…`, or set `appProtocol: grpc`";
            finding_on_service_port(&GRPC_PROBE_ON_HTTP1_SERVICE_PORT, cx, (pod, handler), message, help)
        })
        .collect()
}

fn http_probe_on_http2_service_port(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.handlers()
        .filter(|(_, handler)| {
            handler.verdict.cause == Cause::HttpAtHttp2Port && protocol_decides(handler)
        })
        .map(|(pod, handler)| {
            let message = format!(
                "{} will fail unless the application supports HTTP/2 without TLS: {} declares port {} \
                 as HTTP/2, so the sidecar sends HTTP/2",
                handler.title(),
                declaring_service(cx, pod, handler),
                handler.port.unwrap_or_default(),
            );
            let help = "name the Service port `http-…`, or remove the protocol from its name";
            finding_on_service_port(&HTTP_PROBE_ON_HTTP2_SERVICE_PORT, cx, (pod, handler), message, help)
        })
        .collect()
}

fn https_probe_on_http_service_port(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.handlers()
        .filter(|(_, handler)| {
            handler.verdict.cause == Cause::HttpsAtHttpPort && protocol_decides(handler)
        })
        .map(|(pod, handler)| {
            let message = format!(
                "{} will fail: {} declares port {} as HTTP, so the sidecar does not forward TLS on it",
                handler.title(),
                declaring_service(cx, pod, handler),
                handler.port.unwrap_or_default(),
            );
            let help = "name the Service port `https-…`, or set `appProtocol: https`";
            finding_on_service_port(&HTTPS_PROBE_ON_HTTP_SERVICE_PORT, cx, (pod, handler), message, help)
        })
        .collect()
}

fn https_probe_plain_listener(
    pod: &WorkloadPrediction<'_>,
    handler: &HandlerPrediction<'_>,
) -> Option<Finding> {
    if handler.verdict.cause != Cause::Other(&shared_faults::HTTPS_AT_PLAIN_LISTENER) {
        return None;
    }
    let mesh = pod.mesh.value.map_or("the mesh", Mesh::title);
    let message = format!(
        "{} fails: {mesh} redirects it to a listener that expects plain HTTP",
        handler.title()
    );
    let span = handler.handler.field_span("scheme");
    let mut finding = HTTPS_PROBE_PLAIN_LISTENER.finding_on_handler(pod, handler, span, message);
    finding.help =
        Some("use plain HTTP, or an `exec` probe that sends the request to 127.0.0.1".to_owned());
    Some(finding)
}

fn https_probe_strict(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    report_rewrite_off(
        &HTTPS_PROBE_STRICT,
        cx,
        |pod, handler| {
            handler.verdict.cause == Cause::HttpsAtStrict && release_without_rewrite(pod).is_none()
        },
        |_, handler| {
            format!(
                "{} will fail: its TLS connection ends at the sidecar, which requires a client \
                 certificate on port {} (STRICT)",
                handler.title(),
                handler.port_for_message(),
            )
        },
    )
}

fn tcp_probe_always_passes(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    report_rewrite_off(
        &TCP_PROBE_ALWAYS_PASSES,
        cx,
        |pod, handler| {
            // Other meshes have no such switch; separate rules report their probes.
            let has_switch = pod.dataplane.value != Dataplane::Other;
            // The API server rejects a port that is a quoted number, so such a probe never runs.
            has_switch && handler.port.is_some() && handler.verdict.cause == Cause::SidecarAccepts
        },
        |_, handler| {
            format!(
                "{} always succeeds: the sidecar accepts connections to port {} even if the \
                 application is down",
                handler.title(),
                handler.port.unwrap_or_default(),
            )
        },
    )
}

/// Returns whether the protocol causes the fault. If the release is too old to rewrite a probe, a separate rule
/// reports that.
fn protocol_decides(handler: &HandlerPrediction<'_>) -> bool {
    handler.unsupported.is_none() || handler.handler.slot.is_lifecycle()
}

/// Returns the Service that declares the protocol of a handler's port, for messages: "Service `web`".
fn declaring_service(
    cx: &RuleContext<'_, '_>,
    pod: &WorkloadPrediction<'_>,
    handler: &HandlerPrediction<'_>,
) -> String {
    let port = handler.port.unwrap_or_default();
    cx.context
        .services(&pod.workload)
        .first_of_port(port)
        .map_or_else(
            || "its Service".to_owned(),
            |(service, _)| format!("Service `{}`", service.name()),
        )
}

/// Builds the finding. The fix turns the rewrite on, unless the release does not rewrite the handler. `help`
/// is used if the fix sets no help of its own.
fn finding_on_service_port(
    rule: &Rule,
    cx: &RuleContext<'_, '_>,
    (pod, handler): (&WorkloadPrediction<'_>, &HandlerPrediction<'_>),
    message: String,
    help: &str,
) -> Finding {
    let span = handler.handler.key.span();
    let mut finding = rule.finding_on_handler(pod, handler, span, message);
    if handler.unsupported.is_none() {
        add_rewrite_fix(cx, pod, &mut finding);
    }
    finding.help.get_or_insert_with(|| help.to_owned());
    finding
}

fn grpc_probe_needs_1_13(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    report_unsupported(&GRPC_PROBE_NEEDS_1_13, cx, |handler| {
        let is_grpc = matches!(handler.handler.action, Ok(ProbeHandler::Grpc { .. }));
        (is_grpc && handler.container.list == ContainerList::Main).then_some("`grpc` probes")
    })
}

fn init_probe_needs_1_19(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    report_unsupported(&INIT_PROBE_NEEDS_1_19, cx, |handler| {
        let is_init = handler.container.list == ContainerList::Init;
        is_init.then_some("probes of init containers")
    })
}

/// The first release whose charts turn the rewrite on by default; istioctl does since 1.6 (source: Istio 1.7,
/// the charts' `values.yaml`).
const ON_SINCE: Version = Version::new(1, 7);

fn rewrite_off_before_1_6(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    report_rewrite_off(
        &REWRITE_OFF_BEFORE_1_6,
        cx,
        |pod, handler| {
            let cause = handler.verdict.cause;
            matches!(cause, Cause::PlaintextAtStrict | Cause::HttpsAtStrict)
                && release_without_rewrite(pod).is_some()
        },
        |pod, handler| {
            let release = release_without_rewrite(pod)
                .map_or_else(String::new, |release| release.to_string());
            format!(
                "{} will fail: Istio {release} does not rewrite probes by default, and port {} requires \
                 mutual TLS (STRICT)",
                handler.title(),
                handler.port_for_message(),
            )
        },
    )
}

/// Returns the release if it is the reason that the rewrite is off, because no file turns it on or off.
fn release_without_rewrite(pod: &WorkloadPrediction<'_>) -> Option<Version> {
    let release = pod.release.value.filter(|release| *release < ON_SINCE)?;
    let is_written = pod
        .rewrite
        .because
        .iter()
        .any(|reason| reason.place.is_some());
    (pod.passes_injector && !pod.rewrite.value && !is_written).then_some(release)
}

fn strict_probe_not_rewritten(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    report_rewrite_off(
        &STRICT_PROBE_NOT_REWRITTEN,
        cx,
        |pod, handler| {
            handler.verdict.cause == Cause::PlaintextAtStrict
                && release_without_rewrite(pod).is_none()
        },
        |_, handler| {
            format!(
                "{} will fail: port {} requires mutual TLS (STRICT), and the probe is not rewritten",
                handler.title(),
                handler.port_for_message(),
            )
        },
    )
}

fn tcp_probe_needs_1_12(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    report_unsupported(&TCP_PROBE_NEEDS_1_12, cx, |handler| {
        let is_tcp = matches!(handler.handler.action, Ok(ProbeHandler::TcpSocket { .. }));
        (is_tcp && handler.container.list == ContainerList::Main).then_some("`tcpSocket` probes")
    })
}

/// Returns a finding for every probe that the release does not rewrite and that the sidecar breaks. `what`
/// returns the kind of the probe for the message, or `None` if the rule does not report it.
fn report_unsupported(
    rule: &Rule,
    cx: &RuleContext<'_, '_>,
    what: impl Fn(&HandlerPrediction<'_>) -> Option<&'static str>,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (pod, handler) in cx.handlers() {
        let (Some(gap), Some(what)) = (handler.unsupported, what(handler)) else {
            continue;
        };
        // A separate rule reports hooks.
        if handler.handler.slot.is_lifecycle() || !meets_sidecar(handler.verdict.cause) {
            continue;
        }
        let (why, help) = match (gap, pod.release.value) {
            (UnsupportedByRelease::Release(since), Some(release)) => (
                format!("Istio {release} does not rewrite {what}"),
                format!("upgrade to Istio {since}"),
            ),
            _ => (
                format!("istiod is configured not to rewrite {what}"),
                "remove `REWRITE_TCP_PROBES` from istiod".to_owned(),
            ),
        };
        let outcome = match handler.verdict.outcome {
            Outcome::AlwaysPasses => "always succeeds",
            _ => "will fail",
        };
        let message = format!(
            "{} {outcome}: {why}, so it reaches the sidecar on port {} ({})",
            handler.title(),
            handler.port_for_message(),
            handler.verdict.cause.describe(),
        );
        let span = handler.handler.key.span();
        let mut finding = rule.finding_on_handler(pod, handler, span, message);
        finding.help = Some(format!(
            "{help}, or use an `exec` probe, which runs inside the container"
        ));
        findings.push(finding);
    }
    findings
}

/// Returns whether the sidecar receives the request of the kubelet and breaks it.
const fn meets_sidecar(cause: Cause) -> bool {
    matches!(
        cause,
        Cause::PlaintextAtStrict
            | Cause::HttpsAtStrict
            | Cause::SidecarAccepts
            | Cause::HttpsAtHttpPort
            | Cause::GrpcAtHttp1Port
            | Cause::HttpAtHttp2Port
    )
}

fn check_lifecycle_hook_strict(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.handlers()
        .filter(|(_, handler)| {
            let cause = handler.verdict.cause;
            matches!(cause, Cause::PlaintextAtStrict | Cause::HttpsAtStrict)
                && handler.handler.slot.is_lifecycle()
        })
        .map(|(pod, handler)| lifecycle_hook_strict(cx, pod, handler))
        .collect()
}

fn lifecycle_hook_strict(
    cx: &RuleContext<'_, '_>,
    pod: &WorkloadPrediction<'_>,
    handler: &HandlerPrediction<'_>,
) -> Finding {
    let result = match handler.handler.slot {
        Slot::PostStart => "the kubelet then kills the container",
        _ => "the pod then stops without it",
    };
    let reason = match pod.release.value {
        Some(release) if pod.rewrite.value => format!("Istio {release} does not rewrite hooks"),
        _ => "the hook is not rewritten".to_owned(),
    };
    let message = format!(
        "{} will fail, and {result}: port {} requires mutual TLS (STRICT), and {reason}",
        handler.title(),
        handler.port_for_message(),
    );
    let span = handler.handler.key.span();
    let mut finding = LIFECYCLE_HOOK_STRICT.finding_on_handler(pod, handler, span, message);
    if enable_rewrite::restores_hook(cx, pod, handler) {
        enable_rewrite::add_fix(cx, pod, &mut finding);
    }
    let help = "use an `exec` hook that sends the request to 127.0.0.1";
    finding.help.get_or_insert_with(|| help.to_owned());
    finding
}

/// Returns a finding for every probe for which `is_affected` is true, with a fix that turns the rewrite on.
/// Separate rules report hooks, and probes that the release does not rewrite at all.
fn report_rewrite_off(
    rule: &Rule,
    cx: &RuleContext<'_, '_>,
    is_affected: impl Fn(&WorkloadPrediction<'_>, &HandlerPrediction<'_>) -> bool,
    message: impl Fn(&WorkloadPrediction<'_>, &HandlerPrediction<'_>) -> String,
) -> Vec<Finding> {
    cx.handlers()
        .filter(|(pod, handler)| {
            handler.unsupported.is_none()
                && !handler.handler.slot.is_lifecycle()
                && is_affected(pod, handler)
        })
        .map(|(pod, handler)| {
            let span = handler.handler.key.span();
            let message = message(pod, handler);
            let mut finding = rule.finding_on_handler(pod, handler, span, message);
            add_rewrite_fix(cx, pod, &mut finding);
            finding
        })
        .collect()
}

/// Adds the fix that turns the rewrite on to a finding if an injector changes the pod; otherwise adds only a help text.
fn add_rewrite_fix<'t>(
    cx: &RuleContext<'_, 't>,
    pod: &WorkloadPrediction<'t>,
    finding: &mut Finding,
) {
    if pod.passes_injector {
        enable_rewrite::add_fix(cx, pod, finding);
    } else {
        let help = "the manifest contains its own sidecar, so no injector rewrites its probes; \
                    rewrite them ahead of deployment, or have the pod injected";
        finding.help = Some(help.to_owned());
    }
}
