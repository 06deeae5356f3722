//! Rule `kuma-tcp-grpc-needs-2-9`.

use super::rule::declare_rule;
use super::{Scene, scene};
use crate::finding::Finding;
use crate::mesh::Mesh;
use crate::predict::{Cause, HandlerPrediction, Trouble, WorkloadPrediction};

declare_rule! {
    /// Finds tcpSocket and gRPC probes that Kuma before 2.9 leaves alone.
    ///
    /// ## What it checks
    /// A `tcpSocket` or `grpc` probe of a pod that Kuma injects, in a release before 2.9, or where
    /// the probe proxy is switched off before release 3.
    ///
    /// ## Why it matters
    /// The sidecar accepts every connection, so a `tcpSocket` probe can never fail; a `grpc` probe in
    /// plain text meets mutual TLS and fails. The probe proxy of 2.9 makes both checks itself.
    ///
    /// ## Example
    /// ```yaml
    /// # meshprobe check --mesh kuma --mesh-version 2.8
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
    ///         tcpSocket:
    ///           port: 8080
    ///       readinessProbe:
    ///         grpc:
    ///           port: 9090
    /// ```
    ///
    /// ## Use instead
    /// ```yaml
    /// # meshprobe check --mesh kuma --mesh-version 2.9
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
    ///         tcpSocket:
    ///           port: 8080
    ///       readinessProbe:
    ///         grpc:
    ///           port: 9090
    /// ```
    ///
    /// ## Fix safety
    /// There is no fix by machine: the release of the mesh is not the manifest's.
    ///
    /// ## References
    /// - Kuma 2.8 and 2.9, `pkg/plugins/runtime/k8s`
    "kuma-tcp-grpc-needs-2-9", Warning, fix: None, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    scene
        .handlers()
        .filter_map(|(pod, handler)| report(pod, handler))
        .collect()
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Option<Finding> {
    if pod.mesh.value != Some(Mesh::Kuma) {
        return None;
    }
    let what = match handler.verdict.cause {
        Cause::SidecarAccepts => "can never fail: the sidecar accepts every connection",
        Cause::Other(Trouble::GrpcAtMtls) => "fails: plain text meets mutual TLS",
        _ => return None,
    };
    let message = format!("{} {what}; Kuma rewrites it from 2.9 on", handler.title());
    let span = handler.handler.kind_span();
    let mut finding = scene::about_handler(&RULE, pod, handler, span, message);
    finding.help = Some("update Kuma, or make the check an `httpGet` or an `exec`".to_owned());
    Some(finding)
}
