//! Rules about probes that reach the sidecar because they are not rewritten.

use meshprobe_mesh::finding::{Finding, Sentence};
use meshprobe_mesh::kube::{ContainerList, ProbeHandler, Slot};
use meshprobe_mesh::mesh::{Mesh, Version, shared_faults};
use meshprobe_predict::context::Dataplane;
use meshprobe_predict::predict::{
    Cause, HandlerPrediction, Outcome, UnsupportedByRelease, WorkloadPrediction,
};

use crate::rules::support::{enable_rewrite, verdicts};
use crate::rules::{Rule, RuleContext};

crate::rules::rule::rules! {
    GRPC_PROBE_ON_HTTP1_SERVICE_PORT = "grpc-probe-on-http1-service-port", Error, fix: Sometimes, scope: Workloads,
        |cx| on_service_port(cx, &GRPC_PROBE_ON_HTTP1_SERVICE_PORT, Cause::GrpcAtHttp1Port,
            ("will fail", "as HTTP, so the sidecar sends HTTP/1.1 to the gRPC server"),
            "name the Service port `grpc-…`, or set `appProtocol: grpc`");
    HTTP_PROBE_ON_HTTP2_SERVICE_PORT = "http-probe-on-http2-service-port", Warning, fix: Sometimes, scope: Workloads,
        |cx| on_service_port(cx, &HTTP_PROBE_ON_HTTP2_SERVICE_PORT, Cause::HttpAtHttp2Port,
            ("will fail unless the application supports HTTP/2 without TLS", "as HTTP/2, so the sidecar sends HTTP/2"),
            "name the Service port `http-…`, or remove the protocol from its name");
    HTTPS_PROBE_ON_HTTP_SERVICE_PORT = "https-probe-on-http-service-port", Error, fix: Sometimes, scope: Workloads,
        |cx| on_service_port(cx, &HTTPS_PROBE_ON_HTTP_SERVICE_PORT, Cause::HttpsAtHttpPort,
            ("will fail", "as HTTP, so the sidecar does not forward TLS on it"),
            "name the Service port `https-…`, or set `appProtocol: https`");
    HTTPS_PROBE_PLAIN_LISTENER = "https-probe-plain-listener", Error, fix: None, scope: Workloads,
        |cx| verdicts::report(cx, &HTTPS_PROBE_PLAIN_LISTENER, None, &[
            (Cause::Other(&shared_faults::HTTPS_AT_PLAIN_LISTENER), "scheme",
            |pod, _| {
                let mesh = pod.mesh.value.map_or("the mesh", Mesh::title);
                format!("fails: {mesh} redirects it to a listener that expects plain HTTP").into()
            },
            "use plain HTTP, or an `exec` probe that sends the request to 127.0.0.1"),
        ]);
    HTTPS_PROBE_STRICT = "https-probe-strict", Error, fix: Sometimes, scope: Workloads,
        |cx| rewrite_is_off(cx, &HTTPS_PROBE_STRICT, |pod, handler| {
            let is_affected = handler.verdict.cause == Cause::HttpsAtStrict && release_without_rewrite(pod).is_none();
            let port = handler.port_for_message();
            is_affected.then(|| format!(
                "will fail: its TLS connection ends at the sidecar, which requires a client certificate on port {port} \
                 (STRICT)"
            ).into())
        });
    TCP_PROBE_ALWAYS_PASSES = "tcp-probe-always-passes", Error, fix: Sometimes, scope: Workloads,
        |cx| rewrite_is_off(cx, &TCP_PROBE_ALWAYS_PASSES, |pod, handler| {
            // Other meshes have no such switch; separate rules report their probes.
            let has_switch = pod.dataplane.value != Dataplane::Other;
            // The API server rejects a port that is a quoted number, so such a probe never runs.
            let port = handler.port?;
            (has_switch && handler.verdict.cause == Cause::SidecarAccepts).then(|| {
                Sentence::verb(("always succeeds", "always succeed"), ": the sidecar accepts connections to ")
                    .port(port, " even if the application is down")
            })
        });
    GRPC_PROBE_NEEDS_1_13 = "grpc-probe-needs-1-13", Error, fix: None, scope: Workloads,
        |cx| unsupported(cx, &GRPC_PROBE_NEEDS_1_13, "`grpc` probes", |handler| {
            is_of_main(handler) && matches!(handler.handler.action, Ok(ProbeHandler::Grpc { .. }))
        });
    INIT_PROBE_NEEDS_1_19 = "init-probe-needs-1-19", Error, fix: None, scope: Workloads,
        |cx| unsupported(cx, &INIT_PROBE_NEEDS_1_19, "probes of init containers", |handler| {
            handler.container.list == ContainerList::Init
        });
    REWRITE_OFF_BEFORE_1_6 = "rewrite-off-before-1-6", Warning, fix: Always, scope: Workloads,
        |cx| rewrite_is_off(cx, &REWRITE_OFF_BEFORE_1_6, |pod, handler| {
            let release = release_without_rewrite(pod)?;
            let port = handler.port_for_message();
            is_strict(handler).then(|| {
                Sentence::all(format!("will fail: Istio {release} does not rewrite probes by default, and "))
                    .ports(port, REQUIRES, [REQUIRES, REQUIRE])
            })
        });
    STRICT_PROBE_NOT_REWRITTEN = "strict-probe-not-rewritten", Error, fix: Sometimes, scope: Workloads,
        |cx| rewrite_is_off(cx, &STRICT_PROBE_NOT_REWRITTEN, |pod, handler| {
            let is_plain = handler.verdict.cause == Cause::PlaintextAtStrict;
            let port = handler.port_for_message();
            (is_plain && release_without_rewrite(pod).is_none()).then(|| {
                Sentence::all("will fail: ").ports(
                    port,
                    " requires mutual TLS (STRICT), and the probe is not rewritten",
                    [
                        " requires mutual TLS (STRICT), and the probes are not rewritten",
                        " require mutual TLS (STRICT), and the probes are not rewritten",
                    ],
                )
            })
        });
    TCP_PROBE_NEEDS_1_12 = "tcp-probe-needs-1-12", Error, fix: None, scope: Workloads,
        |cx| unsupported(cx, &TCP_PROBE_NEEDS_1_12, "`tcpSocket` probes", |handler| {
            is_of_main(handler) && matches!(handler.handler.action, Ok(ProbeHandler::TcpSocket { .. }))
        });
    LIFECYCLE_HOOK_STRICT = "lifecycle-hook-strict", Error, fix: Sometimes, scope: Workloads,
        |cx| cx.each_handler(|pod, handler| lifecycle_hook_strict(cx, pod, handler));
}

/// What strict mutual TLS does at one port, and at several.
const REQUIRES: &str = " requires mutual TLS (STRICT)";
const REQUIRE: &str = " require mutual TLS (STRICT)";

fn is_of_main(handler: &HandlerPrediction<'_>) -> bool {
    handler.container.list == ContainerList::Main
}

fn is_strict(handler: &HandlerPrediction<'_>) -> bool {
    let cause = handler.verdict.cause;
    matches!(cause, Cause::PlaintextAtStrict | Cause::HttpsAtStrict)
}

/// Reports the probes that the protocol of a Service port breaks: the message before and after the Service, and the
/// advice. If the release is too old to rewrite a probe, a separate rule reports that. The fix turns the rewrite on,
/// unless the release does not rewrite the handler; `help` is used if it sets no help of its own.
fn on_service_port(
    cx: &RuleContext<'_, '_>,
    rule: &Rule,
    cause: Cause,
    (outcome, effect): (&str, &str),
    help: &str,
) -> Vec<Finding> {
    cx.each_handler(|pod, handler| {
        let is_supported = handler.unsupported.is_none();
        if handler.verdict.cause != cause || !is_supported && !handler.handler.slot.is_lifecycle() {
            return None;
        }
        let port = handler.port.unwrap_or_default();
        let services = cx.context.services(&pod.workload);
        let service = services.first_of_port(port).map_or_else(
            || "its Service".to_owned(),
            |(service, _)| format!("Service `{}`", service.name()),
        );
        let sentence = Sentence::all(format!("{outcome}: {service} declares "))
            .port(port, format!(" {effect}"));
        let span = handler.handler.key.span();
        let mut finding = rule.finding_on_handler(pod, handler, span, sentence);
        if is_supported {
            add_rewrite_fix(cx, pod, &mut finding);
        }
        finding.help.get_or_insert_with(|| help.to_owned());
        Some(finding)
    })
}

/// The first release whose charts turn the rewrite on by default; istioctl does since 1.6 (source: Istio 1.7,
/// the charts' `values.yaml`).
const ON_SINCE: Version = Version::new(1, 7);

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

/// Returns a finding for every probe of a kind that the release does not rewrite and that the sidecar breaks. `what` names
/// the kind in the message.
fn unsupported(
    cx: &RuleContext<'_, '_>,
    rule: &Rule,
    what: &str,
    is_of_kind: fn(&HandlerPrediction<'_>) -> bool,
) -> Vec<Finding> {
    cx.each_handler(|pod, handler| {
        let gap = handler.unsupported.filter(|_| is_of_kind(handler))?;
        // A separate rule reports hooks.
        if handler.handler.slot.is_lifecycle() || !meets_sidecar(handler.verdict.cause) {
            return None;
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
        let sentence = Sentence::each(format!(
            "{outcome}: {why}, so it reaches the sidecar on port {} ({})",
            handler.port_for_message(),
            handler.verdict.cause.describe()
        ));
        let span = handler.handler.key.span();
        let mut finding = rule.finding_on_handler(pod, handler, span, sentence);
        finding.help = Some(format!(
            "{help}, or use an `exec` probe, which runs inside the container"
        ));
        Some(finding)
    })
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

fn lifecycle_hook_strict(
    cx: &RuleContext<'_, '_>,
    pod: &WorkloadPrediction<'_>,
    handler: &HandlerPrediction<'_>,
) -> Option<Finding> {
    if !is_strict(handler) || !handler.handler.slot.is_lifecycle() {
        return None;
    }
    let reason = match pod.release.value {
        Some(release) if pod.rewrite.value => format!("Istio {release} does not rewrite hooks"),
        _ => "the hook is not rewritten".to_owned(),
    };
    let (port, why) = (
        handler.port_for_message(),
        format!("{REQUIRES}, and {reason}"),
    );
    let sentence = match handler.handler.slot {
        Slot::PostStart => {
            let several = format!("{REQUIRE}, and {reason}");
            Sentence::all("will fail, and the kubelet then kills the container: ").ports(
                port,
                &why,
                [&why, &several],
            )
        }
        _ => Sentence::each("will fail, and the pod then stops without it: ").port(port, why),
    };
    let span = handler.handler.key.span();
    let mut finding = LIFECYCLE_HOOK_STRICT.finding_on_handler(pod, handler, span, sentence);
    if enable_rewrite::restores_hook(cx, pod, handler) {
        enable_rewrite::add_fix(cx, pod, &mut finding);
    }
    let help = "use an `exec` hook that sends the request to 127.0.0.1";
    finding.help.get_or_insert_with(|| help.to_owned());
    Some(finding)
}

/// Returns a finding for every probe for which `text` returns the message after the name of the probe, with a fix that
/// turns the rewrite on. Separate rules report hooks, and probes that the release does not rewrite at all.
fn rewrite_is_off(
    cx: &RuleContext<'_, '_>,
    rule: &Rule,
    text: fn(&WorkloadPrediction<'_>, &HandlerPrediction<'_>) -> Option<Sentence>,
) -> Vec<Finding> {
    cx.each_handler(|pod, handler| {
        if handler.unsupported.is_some() || handler.handler.slot.is_lifecycle() {
            return None;
        }
        let sentence = text(pod, handler)?;
        let span = handler.handler.key.span();
        let mut finding = rule.finding_on_handler(pod, handler, span, sentence);
        add_rewrite_fix(cx, pod, &mut finding);
        Some(finding)
    })
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
