//! Rule `ambient-rewrite-annotation-dead`.

use super::pod_key::{self, Place};
use super::rule::declare_rule;
use super::{Scene, scene};
use crate::context::Dataplane;
use crate::finding::{Applicability, Certainty, Finding};
use crate::mesh::istio::keys;
use crate::predict::{Cause, HandlerPrediction, WorkloadPrediction};

declare_rule! {
    /// Finds the switch of the probe rewrite on pods in ambient mode.
    ///
    /// ## What it checks
    /// The annotation `sidecar.istio.io/rewriteAppHTTPProbers` on pods that are in ambient mode.
    ///
    /// ## Why it matters
    /// In ambient mode nothing is rewritten: the kubelet's packets are known by their source
    /// address and are left alone, whatever mutual TLS and AuthorizationPolicies say. The
    /// annotation is read by the sidecar injector only.
    ///
    /// ## Example
    /// ```yaml
    /// apiVersion: v1
    /// kind: Namespace
    /// metadata:
    ///   name: shop
    ///   labels:
    ///     istio.io/dataplane-mode: ambient
    /// ---
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: shop
    ///   annotations:
    ///     sidecar.istio.io/rewriteAppHTTPProbers: "false"
    /// spec:
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    /// ```
    ///
    /// ## Use instead
    /// ```yaml
    /// apiVersion: v1
    /// kind: Namespace
    /// metadata:
    ///   name: shop
    ///   labels:
    ///     istio.io/dataplane-mode: ambient
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
    /// ```
    ///
    /// ## Fix safety
    /// Removing it is safe where the labels of the tree put the pod into ambient mode and nothing
    /// was rewritten ahead; the pods run as before. Where the annotation has a comment the fix is
    /// only shown.
    ///
    /// ## References
    /// - Istio documentation: "Health Checking of Istio Services"
    /// - Istio reference: "Resource Annotations"
    "ambient-rewrite-annotation-dead", Note, fix: Always, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let ambient = scene
        .pods()
        .filter(|pod| pod.dataplane.value == Dataplane::Ambient);
    ambient.filter_map(report).collect()
}

fn report(pod: &WorkloadPrediction<'_>) -> Option<Finding> {
    let template = &pod.workload.template;
    let entry = template.annotation(keys::REWRITE_PROBERS)?;
    let points_at_agent =
        |handler: &HandlerPrediction<'_>| handler.verdict.cause == Cause::RewrittenWithoutSidecar;
    if pod.prober_env.is_some() || pod.handlers.iter().any(points_at_agent) {
        return None;
    }
    let message = format!(
        "`{}` has no effect: {} is in ambient mode, where probes are not rewritten and \
         bypass ztunnel",
        keys::REWRITE_PROBERS,
        pod.workload.title(),
    );
    let mut finding = scene::about_workload(&RULE, &pod.workload, entry.key.span(), message);
    let route = template.within.child("metadata").child("annotations");
    finding.field = Some(route.child(keys::REWRITE_PROBERS).to_string());
    scene::rest_on_fact(&mut finding, &pod.dataplane);
    finding.help = Some("remove it".to_owned());
    let wanted = if pod.dataplane.certainty == Certainty::Known {
        Applicability::Safe
    } else {
        Applicability::Unsafe
    };
    let degree = pod_key::degree(pod, &[entry], wanted);
    let keys = [keys::REWRITE_PROBERS];
    let changes = pod_key::removal(template, Place::Annotation, &keys);
    let title = format!("remove `{}`", keys::REWRITE_PROBERS);
    let object = &pod.workload.object;
    finding.fix = Some(scene::fix(object, title, degree, changes));
    Some(finding)
}
