//! Rule `kuma-http-host-lost`.

use super::rule::declare_rule;
use super::{Scene, scene};
use crate::finding::Finding;
use crate::mesh::Mesh;
use crate::predict::{Cause, HandlerPrediction, Trouble, WorkloadPrediction};

declare_rule! {
    /// Finds probes whose host Kuma drops.
    ///
    /// ## What it checks
    /// An `httpGet` or `tcpSocket` probe with a `host`, in a pod whose probes Kuma passes through its
    /// probe proxy (2.9 and later).
    ///
    /// ## Why it matters
    /// The rewritten probe has no host, and the probe proxy asks the pod it runs in: another host is
    /// never tested.
    ///
    /// ## Example
    /// ```yaml
    /// apiVersion: v1
    /// kind: Namespace
    /// metadata:
    ///   name: demo
    ///   labels:
    ///     kuma.io/sidecar-injection: enabled
    /// ---
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: demo
    /// spec:
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    ///       livenessProbe:
    ///         httpGet:
    ///           host: db.example
    ///           path: /healthz
    ///           port: 8080
    /// ```
    ///
    /// ## Use instead
    /// ```yaml
    /// apiVersion: v1
    /// kind: Namespace
    /// metadata:
    ///   name: demo
    ///   labels:
    ///     kuma.io/sidecar-injection: enabled
    /// ---
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: demo
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
    /// There is no fix by machine: only the owner knows which host is meant.
    ///
    /// ## References
    /// - Kuma 3 (development), `pkg/plugins/runtime/k8s/probes`
    "kuma-http-host-lost", Warning, fix: None, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    scene
        .handlers()
        .filter_map(|(pod, handler)| report(pod, handler))
        .collect()
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Option<Finding> {
    if pod.mesh.value != Some(Mesh::Kuma)
        || handler.verdict.cause != Cause::Other(Trouble::HttpHostLost)
    {
        return None;
    }
    let message = format!(
        "{} tests the pod itself: Kuma drops the host",
        handler.title()
    );
    let span = handler.handler.field_span("host");
    let mut finding = scene::about_handler(&RULE, pod, handler, span, message);
    finding.help =
        Some("leave `host` out if the pod is meant, else make the check an `exec`".to_owned());
    Some(finding)
}
