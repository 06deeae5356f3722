//! Rules for pods that are marked as injected, and for containers that are injected after the sidecar.

use meshprobe_mesh::finding::{Applicability, Finding, Sentence};
use meshprobe_mesh::mesh::Version;
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_mesh::mesh::istio::mtls::MtlsMode;
use meshprobe_predict::context::{Dataplane, proxy_container};
use meshprobe_predict::predict::{Cause, HandlerPrediction, WorkloadPrediction};

use crate::rules::RuleContext;
use crate::rules::support::pod_metadata::{self, MetadataMap};

crate::rules::rule::rules! {
    LATE_INJECTED_CONTAINER = "late-injected-container", Warning, fix: None, scope: Tree,
        check_late_injected_container;
    PROBERS_LOST_ON_REINJECTION = "probers-lost-on-reinjection", Error, fix: Always, scope: Workloads,
        |cx| cx.each_with(Cause::EntryDropped, probers_lost_on_reinjection);
    STATUS_ANNOTATION_BY_HAND = "status-annotation-by-hand", Warning, fix: Sometimes, scope: Workloads,
        |cx| cx.mesh_pods().filter_map(status_annotation_by_hand).collect();
}

/// The label of a Namespace that makes the Open Policy Agent's injector add the agent to its pods.
const OPA_INJECTION: &str = "opa-istio-injection";
/// The first release in which a second injection keeps the probes of both injections.
const KEEPS_ENV: Version = Version::new(1, 27);
/// The port of the agent's health probes (Istio issue 53786).
const OPA_PORT: i64 = 8282;

fn check_late_injected_container(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    let candidates = cx
        .pods()
        .filter(|pod| pod.dataplane.value == Dataplane::Sidecar)
        .filter_map(|pod| late_injected_container(cx, pod));
    let mut findings: Vec<Finding> = Vec::new();
    for finding in candidates {
        // One finding for each Namespace of each environment.
        let is_new = |known: &Finding| {
            known.primary != finding.primary || known.overlays != finding.overlays
        };
        if findings.iter().all(is_new) {
            findings.push(finding);
        }
    }
    findings
}

fn late_injected_container<'t>(
    cx: &RuleContext<'_, 't>,
    pod: &WorkloadPrediction<'t>,
) -> Option<Finding> {
    let workload = &pod.workload;
    let namespace = cx.context.namespace_of(&workload.object).manifest()?;
    let entry = namespace.label(OPA_INJECTION)?;
    let enabled = entry.value.text() == Some("enabled");
    let mtls = cx.context.pod_facts(workload).mtls(OPA_PORT);
    let captured = cx.context.pod_facts(workload).capture(OPA_PORT).value;
    if !enabled || !captured || mtls.value != MtlsMode::Strict {
        return None;
    }
    let install = cx.context.pod_facts(workload).installation();
    let policy = install.fact("--context PATH", |plane| plane.reinvocation_policy.as_ref());
    // A second injection loses the prober env in older releases (istio#56102).
    let keeps_env = pod.release.value.is_none_or(|release| release >= KEEPS_ENV);
    if keeps_env && policy.is_some_and(|policy| policy.value == "IfNeeded") {
        return None;
    }
    let message = format!(
        "the probes of the container that the Open Policy Agent adds to pods of namespace `{}` will \
         fail: it is injected after Istio's sidecar, so the probes of port {OPA_PORT} are not \
         rewritten, and `STRICT` mutual TLS refuses them",
        namespace.name(),
    );
    let mut finding =
        LATE_INJECTED_CONTAINER.finding_on_deployed(namespace, entry.value.span(), message);
    finding.depend_on(&mtls);
    finding.help = Some(format!(
        "set `sidecarInjectorWebhook.reinvocationPolicy: IfNeeded` (Istio 1.27 or later), or add \
         {OPA_PORT} to `{}`",
        keys::EXCLUDE_INBOUND_PORTS,
    ));
    Some(finding)
}

fn probers_lost_on_reinjection(
    pod: &WorkloadPrediction<'_>,
    handler: &HandlerPrediction<'_>,
) -> Finding {
    let release = pod
        .release
        .value
        .map_or_else(String::new, |release| format!(" {release}"));
    let sentence = Sentence::each(format!(
        "will fail: the pod is marked as injected and has no `{}`, so Istio{release} rewrites the probe to the agent and drops its entry",
        keys::PROBERS_ENV
    ));
    let span = handler.handler.key.span();
    let mut finding = PROBERS_LOST_ON_REINJECTION.finding_on_handler(pod, handler, span, sentence);
    let object = &pod.workload.object;
    let template = &pod.workload.template;
    let status = template.annotation(keys::STATUS);
    if let Some(entry) = status {
        let span = pod_metadata::value_span(entry);
        let label = object.label_at(span, "this annotation marks the pod as injected");
        finding.related.insert(0, label);
    }
    let wanted = Applicability::unsafe_because("the injector then changes the pod again");
    let key = keys::STATUS;
    let title = format!("remove `{key}`, so that the pod is injected again");
    let place = MetadataMap::Annotation;
    finding.fix = Some(pod_metadata::removal_fix(pod, place, key, title, wanted));
    finding
}

/// The image of a sidecar container that requests the injector to set the image.
const AUTO_IMAGE: &str = "auto";

fn status_annotation_by_hand(pod: &WorkloadPrediction<'_>) -> Option<Finding> {
    let workload = &pod.workload;
    let template = &workload.template;
    let entry = template.annotation(keys::STATUS)?;
    let proxy = proxy_container(workload);
    if proxy.is_some_and(|proxy| proxy.image().is_some_and(|image| image != AUTO_IMAGE)) {
        return None;
    }
    let message = format!(
        "annotation `{}` is set by hand: the CNI plugin and ambient mode treat the pod as injected, \
         but the manifest does not contain a sidecar",
        keys::STATUS,
    );
    let mut finding = pod_metadata::finding_on_entry(
        &STATUS_ANNOTATION_BY_HAND,
        workload,
        MetadataMap::Annotation,
        entry,
        message,
    );
    if pod.prober_env.is_some() && pod.passes_injector && pod.rewrite.value {
        finding.help = Some(format!(
            "set `{}` to `\"false\"`, which also keeps `{}`, and remove the annotation",
            keys::REWRITE_PROBERS,
            keys::PROBERS_ENV,
        ));
        return Some(finding);
    }
    let wanted = Applicability::unsafe_because(
        "the CNI plugin and ambient mode then treat the pod as not injected",
    );
    let key = keys::STATUS;
    let title = format!("remove `{key}`, which the injector sets");
    let place = MetadataMap::Annotation;
    finding.fix = Some(pod_metadata::removal_fix(pod, place, key, title, wanted));
    Some(finding)
}
