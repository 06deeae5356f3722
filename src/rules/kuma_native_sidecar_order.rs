//! Rule `kuma-native-sidecar-order`.

use super::rule::declare_rule;
use super::{Scene, scene};
use crate::finding::Finding;
use crate::mesh::Mesh;
use crate::predict::{Cause, HandlerPrediction, Trouble, WorkloadPrediction};

declare_rule! {
    /// Finds probes of native sidecars that Kuma leaves alone.
    ///
    /// ## What it checks
    /// A probe of an init container with `restartPolicy: Always`, in a pod that Kuma injects. Kuma
    /// rewrites it only where its own sidecar is a native one and comes before; `--assume native-
    /// sidecars=true` says that it is.
    ///
    /// ## Why it matters
    /// The probe reaches the port itself, where mutual TLS may be demanded: the kubelet has no
    /// certificate of the mesh.
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
    ///   initContainers:
    ///     - name: logs
    ///       image: registry.example/logs:1
    ///       restartPolicy: Always
    ///       readinessProbe:
    ///         httpGet:
    ///           path: /ready
    ///           port: 7000
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
    ///   initContainers:
    ///     - name: logs
    ///       image: registry.example/logs:1
    ///       restartPolicy: Always
    ///       readinessProbe:
    ///         exec:
    ///           command: [wget, -qO-, "http://127.0.0.1:7000/ready"]
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    /// ```
    ///
    /// ## Fix safety
    /// There is no fix by machine: how Kuma is installed is not in the manifest.
    ///
    /// ## References
    /// - Kuma 3 (development), `pkg/plugins/runtime/k8s/probes`
    "kuma-native-sidecar-order", Warning, fix: None, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    scene
        .handlers()
        .filter_map(|(pod, handler)| report(pod, handler))
        .collect()
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Option<Finding> {
    if pod.mesh.value != Some(Mesh::Kuma)
        || handler.verdict.cause != Cause::Other(Trouble::SidecarLeft)
    {
        return None;
    }
    let message = format!(
        "{} is not rewritten: Kuma leaves native sidecars alone",
        handler.title()
    );
    let span = handler.handler.kind_span();
    let mut finding = scene::about_handler(&RULE, pod, handler, span, message);
    finding.help = Some("make the check an `exec`, or let Kuma inject native sidecars".to_owned());
    Some(finding)
}
