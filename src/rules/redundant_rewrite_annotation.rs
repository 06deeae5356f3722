//! Rule `redundant-rewrite-annotation`.

use super::pod_key::{self, Place};
use super::rule::declare_rule;
use super::{Scene, enable_rewrite, scene};
use crate::context::Dataplane;
use crate::finding::{Applicability, Finding};
use crate::mesh::istio::keys;
use crate::mesh::istio::rewrite::parse_bool;
use crate::predict::WorkloadPrediction;

declare_rule! {
    /// Finds annotations that switch the probe rewrite on where it is on anyway.
    ///
    /// ## What it checks
    /// The annotation `sidecar.istio.io/rewriteAppHTTPProbers` with a true value on a pod that gets
    /// a sidecar, where the installation or its release is known to rewrite probes by default.
    ///
    /// ## Why it matters
    /// The annotation does nothing. It makes readers look for a reason, and hides the places where
    /// the default is really overridden.
    ///
    /// ## Example
    /// ```yaml
    /// # meshprobe check --mesh-version 1.30
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
    ///     sidecar.istio.io/rewriteAppHTTPProbers: "true"
    /// spec:
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    ///       readinessProbe:
    ///         httpGet:
    ///           path: /healthz
    ///           port: 8080
    /// ```
    ///
    /// ## Use instead
    /// ```yaml
    /// # meshprobe check --mesh-version 1.30
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
    ///       readinessProbe:
    ///         httpGet:
    ///           path: /healthz
    ///           port: 8080
    /// ```
    ///
    /// ## Fix safety
    /// Removing the annotation is safe: the rewrite stays on. On a pod that was rewritten ahead it
    /// is unsafe, and next to a comment it is only shown.
    ///
    /// ## References
    /// - Istio documentation: "Health Checking of Istio Services"
    "redundant-rewrite-annotation", Note, fix: Always, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    scene.pods().filter_map(|pod| report(scene, pod)).collect()
}

fn report<'t>(scene: &Scene<'_, 't>, pod: &WorkloadPrediction<'t>) -> Option<Finding> {
    let template = &pod.workload.template;
    let entry = template.annotation(keys::REWRITE_PROBERS)?;
    let on = entry.value.text().and_then(parse_bool) == Some(true);
    let in_mesh = matches!(
        pod.dataplane.value,
        Dataplane::Sidecar | Dataplane::Uncaptured
    );
    if !on || !in_mesh || !pod.rewrite.value || !enable_rewrite::is_default_sure(scene, pod) {
        return None;
    }
    let message = format!(
        "`{}: \"true\"` does nothing: the mesh rewrites probes by default",
        keys::REWRITE_PROBERS
    );
    let mut finding = scene::about_workload(&RULE, &pod.workload, entry.key.span(), message);
    scene::rest_on_fact(&mut finding, &scene.context.rewrite_default(&pod.workload));
    let field = template.within.child("metadata").child("annotations");
    finding.field = Some(field.child(keys::REWRITE_PROBERS).to_string());
    let degree = pod_key::degree(pod, &[entry], Applicability::Safe);
    let keys = [keys::REWRITE_PROBERS];
    let changes = pod_key::removal(template, Place::Annotation, &keys);
    let object = &pod.workload.object;
    finding.fix = Some(scene::fix(object, "remove the annotation", degree, changes));
    Some(finding)
}
