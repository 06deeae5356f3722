//! Rule `mesh-config-conflict`.

use std::sync::Arc;

use super::rule::declare_rule;
use super::{Scene, scene};
use crate::context::Conflict;
use crate::finding::{Finding, Label};
use crate::predict::WorkloadPrediction;

declare_rule! {
    /// Finds installations of the mesh that are equally near to a workload and disagree.
    ///
    /// ## What it checks
    /// Two or more control planes in scope that would both inject a workload with probes, lie equally
    /// near to it in the tree, and differ on the rewrite default, the status port, the root namespace,
    /// the revision, the release or the CNI plugin.
    ///
    /// ## Why it matters
    /// Only one of them can be right about a cluster, and these settings decide about probes. meshprobe
    /// computes the verdict for each. Where they agree nothing else is said; where they do not, the
    /// verdict is an assumption.
    ///
    /// ## Example
    /// ```yaml
    /// apiVersion: install.istio.io/v1alpha1
    /// kind: IstioOperator
    /// metadata:
    ///   name: one
    ///   namespace: istio-system
    /// spec:
    ///   values:
    ///     sidecarInjectorWebhook:
    ///       rewriteAppHTTPProbe: false
    /// ---
    /// apiVersion: install.istio.io/v1alpha1
    /// kind: IstioOperator
    /// metadata:
    ///   name: other
    ///   namespace: istio-system
    /// spec:
    ///   values:
    ///     sidecarInjectorWebhook:
    ///       rewriteAppHTTPProbe: true
    /// ---
    /// apiVersion: v1
    /// kind: Namespace
    /// metadata:
    ///   name: shop
    ///   labels:
    ///     istio-injection: enabled
    /// ---
    /// apiVersion: security.istio.io/v1
    /// kind: PeerAuthentication
    /// metadata:
    ///   name: default
    ///   namespace: shop
    /// spec:
    ///   mtls:
    ///     mode: PERMISSIVE
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
    /// ```
    ///
    /// ## Use instead
    /// One installation per cluster, or a folder per cluster that holds its installation.
    /// ```yaml
    /// apiVersion: install.istio.io/v1alpha1
    /// kind: IstioOperator
    /// metadata:
    ///   name: one
    ///   namespace: istio-system
    /// spec:
    ///   values:
    ///     sidecarInjectorWebhook:
    ///       rewriteAppHTTPProbe: true
    /// ---
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
    /// ```
    ///
    /// ## Fix safety
    /// There is no fix: only the owner knows which of them is installed.
    ///
    /// ## References
    /// - Istio documentation: "Install Multiple Istio Control Planes in a Single Cluster"
    "mesh-config-conflict", Note, fix: None, scope: Tree
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    for pod in scene.pods().filter(|pod| !pod.handlers.is_empty()) {
        for conflict in scene.context.install(&pod.workload).conflicts() {
            let Some(finding) = said(&conflict, pod) else {
                continue;
            };
            // Every workload of the cluster meets the same conflict.
            let known =
                |one: &Finding| one.primary == finding.primary && one.message == finding.message;
            if !findings.iter().any(known) {
                findings.push(finding);
            }
        }
    }
    findings
}

fn said(conflict: &Conflict, pod: &WorkloadPrediction<'_>) -> Option<Finding> {
    let ((value, place), others) = conflict.sides.split_first()?;
    let (other, _) = others.iter().find(|(other, _)| other != value)?;
    let key = conflict.key;
    let message = format!(
        "installations that are equally near disagree on {key}: {value} here, {other} elsewhere; \
         the verdict is computed for each"
    );
    // The object that the places lie in is not that of the workload.
    let mut finding = scene::about_workload(
        &RULE,
        &pod.workload,
        pod.workload.object.name_span(),
        message,
    );
    finding.object = None;
    finding.document = 0;
    finding.primary = Label {
        path: Arc::clone(&place.path),
        span: place.span,
        message: String::new(),
    };
    let related = others.iter().filter(|(_, other)| other != place);
    finding.related.extend(related.map(|(value, place)| Label {
        message: format!("{key} = {value}"),
        ..place.clone()
    }));
    finding.help =
        Some("keep what belongs to one cluster in one folder, or settle it by option".into());
    Some(finding)
}
