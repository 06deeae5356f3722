//! Rule `kuma-probe-port-unprotected`.

use super::rule::declare_rule;
use super::{Scene, scene};
use crate::finding::Finding;
use crate::mesh::Mesh;
use crate::predict::{Cause, HandlerPrediction, WorkloadPrediction};

declare_rule! {
    /// Finds ports that Kuma takes out of the mesh for the sake of their probes.
    ///
    /// ## What it checks
    /// A probe of a pod that Kuma 3 injects while its probe proxy is off, by `kuma.io/application-
    /// probe-proxy-port: "0"` or since the pod is a gateway.
    ///
    /// ## Why it matters
    /// The webhook leaves the ports of such probes out of the redirect. They bypass the sidecar for
    /// everybody, not for the kubelet alone: no mutual TLS, no policy.
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
    ///   annotations:
    ///     kuma.io/application-probe-proxy-port: "0"
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
    /// There is no fix by machine: somebody switched the probe proxy off for a reason.
    ///
    /// ## References
    /// - Kuma 3 (development), `RealProbePorts`
    "kuma-probe-port-unprotected", Note, fix: None, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    scene
        .handlers()
        .filter_map(|(pod, handler)| report(pod, handler))
        .collect()
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Option<Finding> {
    if pod.mesh.value != Some(Mesh::Kuma) || handler.verdict.cause != Cause::NotCaptured {
        return None;
    }
    let message = format!(
        "{} takes port {} out of the mesh, for everybody",
        handler.title(),
        handler.port.unwrap_or_default()
    );
    let span = handler.handler.field_span("port");
    let mut finding = scene::about_handler(&RULE, pod, handler, span, message);
    finding.outcome = None;
    finding.help =
        Some("give health checks a port of their own, or use the probe proxy".to_owned());
    Some(finding)
}
