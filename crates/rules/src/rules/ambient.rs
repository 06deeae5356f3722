//! Rules for the labels and annotations of pods in ambient mode.

use meshprobe_mesh::finding::{Applicability, Certainty, Finding, sentence_list};
use meshprobe_mesh::kube::Object;
use meshprobe_mesh::mesh::Version;
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_mesh::mesh::istio::mtls::MtlsMode;
use meshprobe_predict::context::Dataplane;
use meshprobe_predict::predict::{Cause, HandlerPrediction, WorkloadPrediction};
use meshprobe_yaml::{Entry, NodeRef};

use crate::rules::RuleContext;
use crate::rules::support::pod_metadata::{self, MetadataMap};

crate::rules::rule::rules! {
    AND_INJECTION_LABELS = "ambient-and-injection-labels", Warning, fix: None, scope: Tree,
        |cx| cx.context.inventory.namespaces.iter()
            .filter_map(|namespace| and_injection_labels(cx, namespace)).collect();
    INBOUND_BYPASS = "ambient-inbound-bypass", Note, fix: None, scope: Workloads,
        |cx| cx.pods().filter(|pod| pod.dataplane.value == Dataplane::Ambient)
            .filter_map(|pod| inbound_bypass(cx, pod)).collect();
    REWRITE_ANNOTATION_DEAD = "ambient-rewrite-annotation-dead", Note, fix: Always, scope: Workloads,
        |cx| cx.pods().filter(|pod| pod.dataplane.value == Dataplane::Ambient)
            .filter_map(rewrite_annotation_dead).collect();
    SIDECAR_ANNOTATION_DEAD = "ambient-sidecar-annotation-dead", Note, fix: None, scope: Workloads,
        |cx| cx.pods().filter(|pod| pod.dataplane.value == Dataplane::Ambient && pod.prober_env.is_none())
            .filter_map(sidecar_annotation_dead).collect();
}

fn and_injection_labels<'t>(cx: &RuleContext<'_, 't>, namespace: &Object<'t>) -> Option<Finding> {
    let mode = namespace.label(keys::DATAPLANE_MODE)?;
    if mode.value.text() != Some("ambient") {
        return None;
    }
    let injection = namespace.label(keys::NAMESPACE_INJECTION);
    let injection_label = injection
        .filter(|label| label.value.text() == Some("enabled"))
        .or_else(|| {
            namespace
                .label(keys::REVISION)
                .filter(|_| injection.is_none())
        })?;
    let is_in_namespace = |pod: &&&WorkloadPrediction<'t>| {
        cx.context
            .namespace_of(&pod.workload.object)
            .manifest()
            .is_some_and(|object| std::ptr::eq(object, namespace))
    };
    let mut pods = cx
        .by_namespace
        .get(namespace.name())
        .into_iter()
        .flatten()
        .filter(is_in_namespace)
        .peekable();
    // Without a pod that shows whether it is injected, the revision may be one that no control plane serves.
    let is_injected = match pods.peek() {
        None => injection.is_some(),
        Some(_) => pods.any(|pod| pod.passes_injector),
    };
    if !is_injected {
        return None;
    }
    let message = format!(
        "namespace `{}` requests both ambient mode and sidecar injection: its pods are injected \
         and leave ambient mode",
        namespace.name(),
    );
    let mut finding =
        AND_INJECTION_LABELS.finding_on_deployed(namespace, mode.value.span(), message);
    finding.field = Some(format!("metadata.labels.{}", keys::DATAPLANE_MODE));
    finding
        .relate(namespace.label_at(injection_label.value.span(), "this label enables injection"));
    finding.help = Some("keep the label of the intended mode and remove the other".to_owned());
    Some(finding)
}

/// The first release whose CNI plugin reads the annotation. Source: Istio 1.23.6 and 1.24.0,
/// `cni/pkg/nodeagent/net.go` (istio#53476).
const READS_ANNOTATION: Version = Version::new(1, 24);

fn inbound_bypass<'t>(cx: &RuleContext<'_, 't>, pod: &WorkloadPrediction<'t>) -> Option<Finding> {
    let template = &pod.workload.template;
    let entry = template.annotation(keys::BYPASS_INBOUND)?;
    let release = pod.release.value;
    let is_supported = release.is_none_or(|release| release >= READS_ANNOTATION);
    if entry.value.text() != Some("true") || !is_supported {
        return None;
    }
    let mode = cx.context.pod_facts(&pod.workload).mtls_of_other_ports();
    if mode.value != MtlsMode::Strict {
        return None;
    }
    let message = format!(
        "`STRICT` mutual TLS is not enforced for {}: annotation `{}` lets all inbound traffic \
         bypass ztunnel",
        pod.workload.title(),
        keys::BYPASS_INBOUND,
    );
    let mut finding = INBOUND_BYPASS.finding_on_workload(&pod.workload, entry.key.span(), message);
    let route = template.within.child("metadata").child("annotations");
    finding.field = Some(route.child(keys::BYPASS_INBOUND).to_string());
    finding.depend_on(&mode);
    finding.depend_on(&pod.dataplane);
    let help = "remove the annotation, unless clients must reach the pod without the mesh; probes \
                do not need it";
    finding.help = Some(help.to_owned());
    Some(finding)
}

fn rewrite_annotation_dead(pod: &WorkloadPrediction<'_>) -> Option<Finding> {
    let template = &pod.workload.template;
    let entry = template.annotation(keys::REWRITE_PROBERS)?;
    let points_at_agent =
        |handler: &HandlerPrediction<'_>| handler.verdict.cause == Cause::RewrittenWithoutSidecar;
    if pod.prober_env.is_some() || pod.handlers.iter().any(points_at_agent) {
        return None;
    }
    let message = format!(
        "annotation `{}` has no effect: {} is in ambient mode, where probes are not rewritten and \
         bypass ztunnel",
        keys::REWRITE_PROBERS,
        pod.workload.title(),
    );
    let mut finding =
        REWRITE_ANNOTATION_DEAD.finding_on_workload(&pod.workload, entry.key.span(), message);
    let route = template.within.child("metadata").child("annotations");
    finding.field = Some(route.child(keys::REWRITE_PROBERS).to_string());
    finding.depend_on(&pod.dataplane);
    finding.help = Some("remove the annotation".to_owned());
    let wanted = if pod.dataplane.certainty == Certainty::Known {
        Applicability::Safe
    } else {
        Applicability::unsafe_because(
            "ambient mode is assumed, and the annotation has an effect on a pod with a sidecar",
        )
    };
    let key = keys::REWRITE_PROBERS;
    let title = format!("remove `{key}`");
    let place = MetadataMap::Annotation;
    finding.fix = Some(pod_metadata::removal_fix(pod, place, key, title, wanted));
    Some(finding)
}

/// The prefixes of annotations that only the sidecar, its agent or the injector reads. Source: Istio 1.31,
/// `getPodLevelTrafficOverrides` in `cni/pkg/nodeagent`, which reads all annotations that ambient mode knows.
const PREFIXES: [&str; 3] = [
    "traffic.sidecar.istio.io/",
    "sidecar.istio.io/",
    "status.sidecar.istio.io/",
];

/// Annotations with such a prefix that other rules report, or that decide whether the pod has a sidecar at all.
const OTHERS: [&str; 3] = [keys::INJECT, keys::REWRITE_PROBERS, keys::STATUS];

fn is_of_sidecar(key: &str) -> bool {
    let has_prefix = PREFIXES.iter().any(|prefix| key.starts_with(prefix));
    (has_prefix || key == keys::PROXY_CONFIG) && !OTHERS.contains(&key)
}

fn sidecar_annotation_dead(pod: &WorkloadPrediction<'_>) -> Option<Finding> {
    let annotations = pod.workload.template.annotations();
    let entries = annotations.into_iter().flat_map(NodeRef::effective_entries);
    let found: Vec<(Entry<'_>, &str)> = entries
        .filter_map(|entry| Some((entry, entry.key.text().filter(|key| is_of_sidecar(key))?)))
        .collect();
    let (first, _) = found.first()?;
    let names: Vec<String> = found.iter().map(|(_, key)| format!("`{key}`")).collect();
    let (noun, verb) = match names.len() {
        1 => ("annotation", "has"),
        _ => ("annotations", "have"),
    };
    let mut message = format!(
        "{noun} {} {verb} no effect: {} is in ambient mode, without a sidecar",
        sentence_list(&names),
        pod.workload.title(),
    );
    let limits_capture = |(_, key): &(Entry<'_>, &str)| {
        matches!(
            *key,
            keys::EXCLUDE_INBOUND_PORTS | keys::INCLUDE_INBOUND_PORTS
        )
    };
    if found.iter().any(limits_capture) {
        message.push_str("; ztunnel captures all inbound ports, also those that bypass a sidecar");
    }
    let workload = &pod.workload;
    let mut finding = pod_metadata::finding_on_entry(
        &SIDECAR_ANNOTATION_DEAD,
        workload,
        MetadataMap::Annotation,
        *first,
        message,
    );
    finding.depend_on(&pod.dataplane);
    finding.help = Some(match found.iter().any(limits_capture) {
        true => format!(
            "remove them; for clients without the mesh, set the mode of the port to PERMISSIVE, or use `{}`",
            keys::BYPASS_INBOUND
        ),
        false => "remove them".to_owned(),
    });
    Some(finding)
}
