//! Rule `probers-lost-on-reinjection`.

use super::pod_key::{self, Place};
use super::rule::declare_rule;
use super::{Scene, scene};
use crate::finding::{Applicability, Finding};
use crate::mesh::istio::keys;
use crate::predict::{Cause, HandlerPrediction, WorkloadPrediction};

declare_rule! {
    /// Finds pods marked as injected whose probes lose their entries when they are injected again.
    ///
    /// ## What it checks
    /// A pod with the annotation `sidecar.istio.io/status` and without `ISTIO_KUBE_APP_PROBERS`, which Istio 1.17
    /// to 1.26 injects, and which has a handler to rewrite.
    ///
    /// ## Why it matters
    /// These releases add what they record to the variable that is there, and drop it where there is none. The
    /// probe is pointed at the agent all the same, which answers 400 for ever. Typical of the output of
    /// `istioctl kube-inject` from before the workload had probes. Istio 1.27 adds the variable.
    ///
    /// ## Example
    /// ```yaml
    /// # meshprobe check --mesh-version 1.26
    /// apiVersion: v1
    /// kind: Namespace
    /// metadata:
    ///   name: shop
    ///   labels:
    ///     istio-injection: enabled
    /// ---
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: shop
    ///   annotations:
    ///     sidecar.istio.io/status: '{"containers":["istio-proxy"]}'
    /// spec:
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    ///       livenessProbe:
    ///         httpGet:
    ///           path: /healthz
    ///           port: 8080
    ///     - name: istio-proxy
    ///       image: registry.example/proxyv2:1.26.8
    /// ```
    ///
    /// ## Use instead
    /// ```yaml
    /// # meshprobe check --mesh-version 1.26
    /// apiVersion: v1
    /// kind: Namespace
    /// metadata:
    ///   name: shop
    ///   labels:
    ///     istio-injection: enabled
    /// ---
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: shop
    /// spec:
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    ///       livenessProbe:
    ///         httpGet:
    ///           path: /healthz
    ///           port: 8080
    ///     - name: istio-proxy
    ///       image: registry.example/proxyv2:1.26.8
    /// ```
    ///
    /// ## Fix safety
    /// Removing the annotation is unsafe: the pod is then injected afresh.
    ///
    /// ## References
    /// - Istio documentation: "Health Checking of Istio Services"
    /// - Istio documentation: "Upgrade Notes"
    "probers-lost-on-reinjection", Error, fix: Always, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let struck = scene
        .handlers()
        .filter(|(_, handler)| handler.verdict.cause == Cause::EntryDropped);
    struck.map(|(pod, handler)| report(pod, handler)).collect()
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Finding {
    let release = pod.release.value;
    let release = release.map_or_else(String::new, |release| format!(" {release}"));
    let message = format!(
        "{} will fail: the pod is marked as injected and has no {}, so Istio{release} points the \
         probe at the agent and drops its entry",
        handler.title(),
        keys::PROBERS_ENV,
    );
    let span = handler.handler.key.span();
    let mut finding = scene::about_handler(&RULE, pod, handler, span, message);
    let object = &pod.workload.object;
    let template = &pod.workload.template;
    let marked = template.annotation(keys::STATUS);
    if let Some(entry) = marked {
        let said = "marked as injected here";
        let place = object.label_at(pod_key::value_span(entry), said);
        finding.related.insert(0, place);
    }
    let removed: Vec<_> = marked.into_iter().collect();
    let degree = pod_key::degree(pod, &removed, Applicability::Unsafe);
    let changes = pod_key::removal(template, Place::Annotation, &[keys::STATUS]);
    let title = format!("remove `{}`: the pod is then injected afresh", keys::STATUS);
    finding.fix = Some(scene::fix(object, title, degree, changes));
    finding
}
