//! Rule `proxyless-template-no-rewrite`.

use super::pod_key::{self, Place};
use super::rule::declare_rule;
use super::{Scene, scene};
use crate::context::Dataplane;
use crate::finding::{Applicability, Finding};
use crate::mesh::istio::keys;
use crate::mesh::istio::rewrite::parse_bool;
use crate::predict::WorkloadPrediction;

declare_rule! {
    /// Finds rewrite switches that a proxyless template overwrites.
    ///
    /// ## What it checks
    /// A pod with `sidecar.istio.io/rewriteAppHTTPProbers: "true"` that asks for the injection
    /// template `grpc-agent` or `grpc-simple` (Istio 1.12 or later).
    ///
    /// ## Why it matters
    /// These templates write "false" over the annotation. Probes stay as they are, and since such
    /// pods are not captured they reach the application.
    ///
    /// ## Example
    /// ```yaml
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
    ///     inject.istio.io/templates: grpc-agent
    ///     sidecar.istio.io/rewriteAppHTTPProbers: "true"
    /// spec:
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    ///       livenessProbe:
    ///         httpGet:
    ///           path: /healthz
    ///           port: 8080
    /// ```
    ///
    /// ## Use instead
    /// ```yaml
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
    ///     inject.istio.io/templates: grpc-agent
    /// spec:
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    ///       livenessProbe:
    ///         httpGet:
    ///           path: /healthz
    ///           port: 8080
    /// ```
    ///
    /// ## Fix safety
    /// Removing the annotation is safe: it has no effect. On a pod that was rewritten ahead it is
    /// unsafe.
    ///
    /// ## References
    /// - Istio documentation: "gRPC Proxyless Service Mesh"
    "proxyless-template-no-rewrite", Note, fix: Always, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let uncaptured = scene
        .pods()
        .filter(|pod| pod.dataplane.value == Dataplane::Uncaptured && !pod.rewrite.value);
    uncaptured.filter_map(report).collect()
}

fn report(pod: &WorkloadPrediction<'_>) -> Option<Finding> {
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
    let by_template = workload.object.label_at(templates.value.span(), "");
    if !on || !decider.is_some_and(|place| place.is_at(&by_template)) {
        return None;
    }
    let message = format!(
        "the rewrite stays off: template `{}` writes \"false\" over this annotation, and probes reach \
         the application directly",
        templates.value.text()?,
    );
    let mut finding = pod_key::about(&RULE, workload, Place::Annotation, entry, message);
    scene::rest_on_fact(&mut finding, &pod.rewrite);
    finding.help =
        Some("remove the annotation: without capture no probe needs the rewrite".to_owned());
    let degree = pod_key::degree(pod, &[entry], Applicability::Safe);
    let changes = pod_key::removal(template, Place::Annotation, &[keys::REWRITE_PROBERS]);
    let title = format!("remove `{}`", keys::REWRITE_PROBERS);
    finding.fix = Some(scene::fix(&workload.object, title, degree, changes));
    Some(finding)
}
