//! Rules about probes and hooks that the rewrite changes, and about the annotation that turns it on.

use meshprobe_mesh::finding::{Applicability, Finding, Fix, Sentence, Severity};
use meshprobe_mesh::kube::Slot;
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_mesh::mesh::istio::rewrite::parse_bool;
use meshprobe_mesh::mesh::{Mesh, Version, shared_faults};
use meshprobe_predict::context::Dataplane;
use meshprobe_predict::predict::{
    Cause, HandlerPrediction, UnsupportedProtocol, WorkloadPrediction, unsupported_protocol,
};
use meshprobe_yaml::{Change, NodeRef};

use crate::rules::RuleContext;
use crate::rules::support::disable_rewrite;
use crate::rules::support::pod_metadata::{self, MetadataMap};
use crate::rules::support::verdicts;

crate::rules::rule::rules! {
    HOST_HEADER_DROPPED = "host-header-dropped", Warning, fix: None, scope: Workloads,
        |cx| verdicts::report(cx, &HOST_HEADER_DROPPED, None, &[
            (Cause::HostHeaderDropped, "httpHeaders",
            |_, _| "reaches the application without its header `Host`: the agent of Istio 1.18.1 and 1.18.2 drops it".into(),
            "upgrade to Istio 1.18.3 or later"),
        ]);
    HTTP_PROBE_HOST_REWRITTEN = "http-probe-host-rewritten", Error, fix: Always, scope: Workloads,
        check_http_probe_host_rewritten;
    LIFECYCLE_HOOK_HOST_REWRITTEN = "lifecycle-hook-host-rewritten", Error, fix: Always, scope: Workloads,
        check_lifecycle_hook_host_rewritten;
    PROBE_PROTOCOL_UNSUPPORTED = "probe-protocol-unsupported", Warning, failure: true, fix: None, scope: Workloads,
        check_probe_protocol_unsupported;
    PROXYLESS_TEMPLATE_NO_REWRITE = "proxyless-template-no-rewrite", Note, fix: Always, scope: Workloads,
        check_proxyless_template_no_rewrite;
    REDUNDANT_REWRITE_ANNOTATION = "redundant-rewrite-annotation", Note, fix: Always, scope: Workloads,
        |cx| cx.pods().filter_map(|pod| redundant_rewrite_annotation(cx, pod)).collect();
    TCP_PROBE_HOST_DROPPED = "tcp-probe-host-dropped", Error, fix: Always, scope: Workloads,
        |cx| cx.each_with(Cause::HostDropped, |pod, handler| tcp_probe_host_dropped(cx, pod, handler));
}

fn check_http_probe_host_rewritten(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    let of_istio = cx.handlers().filter(|(_, handler)| {
        handler.verdict.cause == Cause::HostKept && !handler.handler.slot.is_lifecycle()
    });
    let of_other_meshes = cx.handlers().filter(|(pod, handler)| {
        let is_kept = handler.verdict.cause == Cause::Other(&shared_faults::HOST_KEPT);
        is_kept && pod.mesh.value != Some(Mesh::OSM)
    });
    of_istio
        .chain(of_other_meshes)
        .map(|(pod, handler)| http_probe_host_rewritten(pod, handler))
        .collect()
}

fn http_probe_host_rewritten(
    pod: &WorkloadPrediction<'_>,
    handler: &HandlerPrediction<'_>,
) -> Finding {
    let host = match &handler.handler.action {
        Ok(action) => action.host().unwrap_or_default(),
        Err(_) => "",
    };
    let sentence = Sentence::all(format!(
        "will fail: the rewrite keeps `host`, so the kubelet sends the request to `{host}:{}` instead of the pod",
        handler
            .rewritten_to
            .as_ref()
            .map_or(pod.status_port.value, |rewritten_to| rewritten_to.port)
    ));
    let span = handler.handler.field_span("host");
    let mut finding = HTTP_PROBE_HOST_REWRITTEN.finding_on_handler(pod, handler, span, sentence);
    let help = "remove `host`, and set the header `Host` if the application needs a host name";
    finding.help = Some(if handler.verdict.cause == Cause::HostKept {
        format!(
            "{help}; to keep checking `{host}`, turn the rewrite off with `{}: \"false\"`",
            keys::REWRITE_PROBERS
        )
    } else {
        help.to_owned()
    });
    let object = &pod.workload.object;
    finding.fix = Some(Fix::of_object(
        object,
        "remove `host`: the kubelet then checks the pod".to_owned(),
        Applicability::unsafe_because(format!("the probe then checks the pod instead of `{host}`")),
        vec![Change::remove(
            handler.handler.route.child("httpGet").child("host"),
        )],
    ));
    finding
}

/// The first release that rewrites hooks.
const REWRITES_HOOKS: Version = Version::new(1, 25);

fn check_lifecycle_hook_host_rewritten(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.handlers()
        .filter(|(_, handler)| handler.handler.slot.is_lifecycle())
        .filter_map(|(pod, handler)| match handler.verdict.cause {
            Cause::HostKept => Some(report_broken(cx, pod, handler)),
            Cause::OtherHost => report_broken_by_upgrade(cx, pod, handler),
            _ => None,
        })
        .collect()
}

fn report_broken(
    cx: &RuleContext<'_, '_>,
    pod: &WorkloadPrediction<'_>,
    handler: &HandlerPrediction<'_>,
) -> Finding {
    let result = match handler.handler.slot {
        Slot::PostStart => "the kubelet then kills the container",
        _ => "the pod then stops without it",
    };
    let sentence = Sentence::all(format!(
        "will fail, and {result}: the rewrite keeps `host`, so the kubelet sends the request to `{}:{}`",
        host(handler),
        pod.status_port.value,
    ));
    lifecycle_hook_host_rewritten(cx, pod, handler, sentence)
}

/// Reports a hook that works because the release does not rewrite hooks; later releases do.
fn report_broken_by_upgrade(
    cx: &RuleContext<'_, '_>,
    pod: &WorkloadPrediction<'_>,
    handler: &HandlerPrediction<'_>,
) -> Option<Finding> {
    let release = pod.release.value?;
    if !pod.rewrite.value || release >= REWRITES_HOOKS {
        return None;
    }
    let sentence = Sentence::each(format!(
        "works only before Istio {REWRITES_HOOKS}, which rewrites it and sends the request to `{}:{}`",
        host(handler),
        pod.status_port.value
    ));
    let mut finding = lifecycle_hook_host_rewritten(cx, pod, handler, sentence);
    finding.severity = Severity::Note;
    finding.outcome = None;
    Some(finding)
}

fn host<'a>(handler: &'a HandlerPrediction<'_>) -> &'a str {
    let action = handler.handler.action.as_ref().ok();
    action.and_then(|action| action.host()).unwrap_or_default()
}

fn lifecycle_hook_host_rewritten(
    cx: &RuleContext<'_, '_>,
    pod: &WorkloadPrediction<'_>,
    handler: &HandlerPrediction<'_>,
    sentence: Sentence,
) -> Finding {
    let span = handler.handler.field_span("host");
    let mut finding =
        LIFECYCLE_HOOK_HOST_REWRITTEN.finding_on_handler(pod, handler, span, sentence);
    finding.help = Some("alternatively, use an `exec` hook, which is not rewritten".to_owned());
    disable_rewrite::add_fix(cx, pod, &mut finding);
    finding
}

fn check_probe_protocol_unsupported(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.handlers()
        .filter(|(_, handler)| handler.verdict.cause == Cause::ProtocolUnsupported)
        .filter_map(|(pod, handler)| probe_protocol_unsupported(pod, handler))
        .collect()
}

fn probe_protocol_unsupported(
    pod: &WorkloadPrediction<'_>,
    handler: &HandlerPrediction<'_>,
) -> Option<Finding> {
    let protocol = unsupported_protocol(&handler.handler)?;
    let (effect, help) = match protocol {
        UnsupportedProtocol::Http2 => (
            " unless the application accepts HTTP/1.1, which the agent sends: `protocol: HTTP2` is lost",
            "use an `exec` probe if the application does not also serve HTTP/1.1",
        ),
        UnsupportedProtocol::GrpcTls => (
            ": the agent calls gRPC without TLS, and `mode: TLS` is lost",
            "use an `exec` probe, or serve the health service without TLS on a port of its own",
        ),
    };
    let sentence = Sentence::verb(("fails", "fail"), effect);
    let span = handler.handler.field_span(protocol.field());
    let mut finding = PROBE_PROTOCOL_UNSUPPORTED.finding_on_handler(pod, handler, span, sentence);
    finding.help = Some(help.to_owned());
    Some(finding)
}

fn check_proxyless_template_no_rewrite(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    let uncaptured = cx
        .pods()
        .filter(|pod| pod.dataplane.value == Dataplane::Uncaptured && !pod.rewrite.value);
    uncaptured
        .filter_map(proxyless_template_no_rewrite)
        .collect()
}

fn proxyless_template_no_rewrite(pod: &WorkloadPrediction<'_>) -> Option<Finding> {
    let workload = &pod.workload;
    let template = &workload.template;
    let entry = template.annotation(keys::REWRITE_PROBERS)?;
    let templates = template.annotation(keys::TEMPLATES)?;
    let on = entry.value.text().and_then(parse_bool) == Some(true);
    let decider = pod
        .rewrite
        .because
        .first()
        .and_then(|reason| reason.place.as_ref());
    let template_label = workload.object.label_at(templates.value.span(), "");
    if !on || !decider.is_some_and(|place| place.is_at(&template_label)) {
        return None;
    }
    let message = format!(
        "annotation `{}` has no effect: template `{}` overrides it with \"false\", and probes reach \
         the application directly",
        keys::REWRITE_PROBERS,
        templates.value.text()?,
    );
    let mut finding = pod_metadata::finding_on_entry(
        &PROXYLESS_TEMPLATE_NO_REWRITE,
        workload,
        MetadataMap::Annotation,
        entry,
        message,
    );
    finding.depend_on(&pod.rewrite);
    finding.help =
        Some("remove the annotation; without capture, probes do not need the rewrite".to_owned());
    let key = keys::REWRITE_PROBERS;
    finding.fix = Some(pod_metadata::removal_fix(
        pod,
        MetadataMap::Annotation,
        key,
        format!("remove `{key}`"),
        Applicability::Safe,
    ));
    Some(finding)
}

fn redundant_rewrite_annotation<'t>(
    cx: &RuleContext<'_, 't>,
    pod: &WorkloadPrediction<'t>,
) -> Option<Finding> {
    let template = &pod.workload.template;
    let entry = template.annotation(keys::REWRITE_PROBERS)?;
    let on = entry.value.text().and_then(parse_bool) == Some(true);
    let in_mesh = matches!(
        pod.dataplane.value,
        Dataplane::Sidecar | Dataplane::Uncaptured
    );
    // Without it, the other value would apply and not the default.
    let is_override = pod_metadata::is_override(&pod.workload, &entry);
    if !on || is_override || !in_mesh || !pod.rewrite.value || !cx.rewrites_by_default(pod) {
        return None;
    }
    let message = format!(
        "annotation `{}: \"true\"` has no effect: the mesh rewrites probes by default",
        keys::REWRITE_PROBERS
    );
    let mut finding =
        REDUNDANT_REWRITE_ANNOTATION.finding_on_workload(&pod.workload, entry.key.span(), message);
    finding.depend_on(&cx.context.pod_facts(&pod.workload).rewrite_default());
    let field = template.within.child("metadata").child("annotations");
    finding.field = Some(field.child(keys::REWRITE_PROBERS).to_string());
    finding.fix = Some(pod_metadata::removal_fix(
        pod,
        MetadataMap::Annotation,
        keys::REWRITE_PROBERS,
        "remove the annotation",
        Applicability::Safe,
    ));
    Some(finding)
}

fn tcp_probe_host_dropped(
    cx: &RuleContext<'_, '_>,
    pod: &WorkloadPrediction<'_>,
    handler: &HandlerPrediction<'_>,
) -> Finding {
    let action = handler.handler.action.as_ref().ok();
    let host = action.and_then(|action| action.host()).unwrap_or_default();
    let sentence = Sentence::all(format!(
        "will not check `{host}`: the rewrite drops `host`, so the agent checks "
    ))
    .port(handler.port_for_message(), " of the pod");
    let span = handler.handler.field_span("host");
    let mut finding = TCP_PROBE_HOST_DROPPED.finding_on_handler(pod, handler, span, sentence);
    if is_loopback(host) {
        finding.severity = finding.severity.lowered();
        finding.help = Some("remove `host`, as the probe targets the pod itself".to_owned());
        remove_host(pod, handler, &mut finding);
    } else {
        finding.help = Some(
            "check the pod itself; if readiness depends on another host, all pods become unready at once"
                .to_owned(),
        );
        disable_rewrite::add_fix(cx, pod, &mut finding);
    }
    finding
}

fn is_loopback(host: &str) -> bool {
    host == "localhost" || host == "::1" || host.starts_with("127.")
}

fn remove_host(
    pod: &WorkloadPrediction<'_>,
    handler: &HandlerPrediction<'_>,
    finding: &mut Finding,
) {
    let socket: Option<NodeRef<'_>> = handler.handler.node.get("tcpSocket");
    let entry = socket.and_then(|socket| socket.entry("host"));
    let wanted = Applicability::unsafe_because(
        "outside of a mesh, the kubelet then checks the address of the pod instead of `host`",
    );
    let applicability = match entry {
        Some(entry) => pod_metadata::keeping_comment(entry, wanted),
        None => wanted,
    };
    let route = handler.handler.route.child("tcpSocket").child("host");
    finding.fix = Some(Fix::of_object(
        &pod.workload.object,
        "remove `host`",
        applicability,
        vec![Change::Remove { route }],
    ));
}
