//! Kuma.

use meshprobe_mesh::finding::{Finding, Sentence, Severity};
use meshprobe_mesh::kube::Object;
use meshprobe_mesh::mesh::kuma::{
    GATEWAY, INJECTION, PROXY_PORT, faults, reads_annotation, switches_off,
};
use meshprobe_mesh::mesh::{Mesh, Version, shared_faults};
use meshprobe_predict::predict::{Cause, HandlerPrediction, WorkloadPrediction};
use meshprobe_yaml::Entry;

use crate::rules::RuleContext;
use crate::rules::support::verdicts;

crate::rules::rule::rules! {
    GATEWAY_ANNOTATION_FALSE = "kuma-gateway-annotation-false", Error, fix: None, scope: Workloads,
        |cx| cx.each_handler(gateway_annotation_false);
    HOST_HEADER_LOST = "kuma-host-header-lost", Warning, fix: None, scope: Workloads,
        |cx| verdicts::report(cx, &HOST_HEADER_LOST, Mesh::KUMA, &[
            (Cause::Other(&faults::HOST_HEADER_LOST), "httpHeaders",
            |_, _| "loses its `Host` header: the probe proxy of Kuma does not forward it".into(),
            "use a path that responds for every host"),
        ]);
    HTTP_HOST_LOST = "kuma-http-host-lost", Warning, fix: None, scope: Workloads,
        |cx| verdicts::report(cx, &HTTP_HOST_LOST, Mesh::KUMA, &[
            (Cause::Other(&faults::HTTP_HOST_LOST), "host",
            |_, _| "checks the pod itself: Kuma drops `host`".into(),
            "remove `host` if the probe is for the pod itself, otherwise use `exec`"),
        ]);
    LABEL_NOT_ANNOTATION = "kuma-label-not-annotation", Error, fix: None, scope: Tree, check_label_not_annotation;
    NATIVE_SIDECAR_ORDER = "kuma-native-sidecar-order", Warning, fix: None, scope: Workloads,
        |cx| verdicts::report(cx, &NATIVE_SIDECAR_ORDER, Mesh::KUMA, &[
            (Cause::Other(&faults::SIDECAR_LEFT), "",
            |_, _| Sentence::verb(("is", "are"), " not rewritten: Kuma does not change probes of native sidecars"),
            "use `exec`, or configure Kuma to inject native sidecars"),
        ]);
    PROBE_PORT_UNPROTECTED = "kuma-probe-port-unprotected", Note, fix: None, scope: Workloads,
        |cx| cx.each_handler(probe_port_unprotected);
    RESERVED_PORT = "kuma-reserved-port", Error, fix: None, scope: Workloads,
        |cx| cx.handlers().filter_map(|(pod, handler)| reserved_port(pod, handler))
            .chain(verdicts::declared_proxy_ports(cx, &RESERVED_PORT, Mesh::KUMA)).collect();
    TCP_GRPC_NEEDS_2_9 = "kuma-tcp-grpc-needs-2-9", Warning, fix: None, scope: Workloads,
        |cx| verdicts::report(cx, &TCP_GRPC_NEEDS_2_9, Mesh::KUMA, &[
            (Cause::SidecarAccepts, "",
            |_, _| "always succeeds: the sidecar accepts every connection; Kuma rewrites it since 2.9".into(),
            HELP),
            (Cause::Other(&shared_faults::GRPC_AT_MTLS), "",
            |_, _| "fails: it sends plain text, and the port requires mutual TLS; Kuma rewrites it since 2.9".into(),
            HELP),
        ]);
}

const REMOVE: &str =
    "remove the annotation `kuma.io/gateway`; without it the pod is not a gateway either";

fn gateway_annotation_false(
    pod: &WorkloadPrediction<'_>,
    handler: &HandlerPrediction<'_>,
) -> Option<Finding> {
    if pod.mesh.value != Some(Mesh::KUMA) {
        return None;
    }
    match handler.verdict.cause {
        Cause::Other(fault) if fault == &faults::AGENT_OFF => Some(report_closed(pod, handler)),
        Cause::MeshDecides => report_unchanged(pod, handler),
        _ => None,
    }
}

/// Reports a probe that the webhook does not rewrite because the annotation exists, up to 2.14. Whether the kubelet
/// reaches the port then depends on mutual TLS.
fn report_unchanged(
    pod: &WorkloadPrediction<'_>,
    handler: &HandlerPrediction<'_>,
) -> Option<Finding> {
    let entry = pod.workload.template.annotation(GATEWAY)?;
    let is_negative = switches_off(entry.value.text()?);
    let is_old = pod
        .release
        .value
        .is_some_and(|release| release < Version::new(3, 0));
    if !is_negative || !is_old || handler.handler.slot.is_lifecycle() {
        return None;
    }
    let sentence = Sentence::each(format!(
        "is not rewritten: the annotation `{GATEWAY}` switches off the probe proxy, whatever its value"
    ));
    let span = handler.handler.kind_span();
    let mut finding = GATEWAY_ANNOTATION_FALSE.finding_on_handler(pod, handler, span, sentence);
    finding.severity = Severity::Warning;
    let place = pod
        .workload
        .object
        .label_at(entry.key.span(), "the annotation is set here");
    finding.relate(place);
    finding.help = Some(REMOVE.to_owned());
    finding.depend_on(&pod.release);
    Some(finding)
}

fn report_closed(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Finding {
    let sentence = Sentence::each("fails: the probe proxy of Kuma is off, so its port is closed");
    let span = handler.handler.kind_span();
    let mut finding = GATEWAY_ANNOTATION_FALSE.finding_on_handler(pod, handler, span, sentence);
    let has_annotation = pod.workload.template.annotation(GATEWAY).is_some();
    finding.help = Some(if has_annotation {
        REMOVE.to_owned()
    } else {
        format!("set the port of the application, or set `{PROXY_PORT}` to a port")
    });
    finding
}

fn check_label_not_annotation(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    let pods = cx.pods().filter_map(|pod| {
        let template = &pod.workload.template;
        let entry = template.annotation(INJECTION)?;
        let label = template.label(INJECTION);
        label_not_annotation(cx, &pod.workload.object, &entry, label.is_some())
    });
    let namespaces = cx.namespaces().filter_map(|namespace| {
        let entry = namespace.annotation(INJECTION)?;
        let label = namespace.label(INJECTION);
        label_not_annotation(cx, namespace, &entry, label.is_some())
    });
    pods.chain(namespaces).collect()
}

fn label_not_annotation<'t>(
    cx: &RuleContext<'_, 't>,
    object: &Object<'t>,
    entry: &Entry<'_>,
    has_label: bool,
) -> Option<Finding> {
    let release = cx.context.mesh_release(Mesh::KUMA, object);
    // If the label is present, the annotation is redundant but harmless.
    if has_label || reads_annotation(release.value) {
        return None;
    }
    let message =
        format!("annotation `{INJECTION}` has no effect: Kuma reads only the label since 2.2");
    let mut finding = LABEL_NOT_ANNOTATION.finding_on_deployed(object, entry.key.span(), message);
    finding.help = Some("move it to `labels`".to_owned());
    finding.depend_on(&release);
    Some(finding)
}

fn probe_port_unprotected(
    pod: &WorkloadPrediction<'_>,
    handler: &HandlerPrediction<'_>,
) -> Option<Finding> {
    if pod.mesh.value != Some(Mesh::KUMA) || handler.verdict.cause != Cause::NotCaptured {
        return None;
    }
    let sentence = Sentence::verb(("excludes", "exclude"), " ").port(
        handler.port.unwrap_or_default(),
        " from the mesh for all clients",
    );
    let span = handler.handler.field_span("port");
    let mut finding = PROBE_PORT_UNPROTECTED.finding_on_handler(pod, handler, span, sentence);
    finding.outcome = None;
    finding.help =
        Some("serve health checks on a separate port, or use the probe proxy".to_owned());
    Some(finding)
}

fn reserved_port(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Option<Finding> {
    if pod.mesh.value != Some(Mesh::KUMA)
        || handler.verdict.cause != Cause::Other(&faults::POD_REFUSED)
    {
        return None;
    }
    let sentence = Sentence::after(
        "Kuma refuses the pod: ",
        format!(
            " targets port {}, which belongs to the probe proxy",
            handler.port.unwrap_or_default()
        ),
    );
    let span = handler.handler.field_span("port");
    let mut finding = RESERVED_PORT.finding_on_handler(pod, handler, span, sentence);
    finding.help =
        Some("set the port of the application; Kuma rewrites the probe at admission".to_owned());
    Some(finding)
}

const HELP: &str = "upgrade Kuma, or use `httpGet` or `exec`";
