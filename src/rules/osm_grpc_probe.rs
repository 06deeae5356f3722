//! Rule `osm-grpc-probe`.

use super::rule::declare_rule;
use super::{Scene, scene};
use crate::finding::Finding;
use crate::mesh::Mesh;
use crate::predict::{Cause, HandlerPrediction, Trouble, WorkloadPrediction};

declare_rule! {
    /// Finds gRPC probes of pods that OSM injects.
    ///
    /// ## What it checks
    /// A `grpc` probe of a pod that OSM injects, or has injected, on a port that the redirect does
    /// not leave alone.
    ///
    /// ## Why it matters
    /// OSM rewrites `httpGet` and `tcpSocket` and leaves `grpc` as it is. The kubelet has no
    /// certificate of the mesh, so its call ends at the inbound listener, which demands mutual TLS.
    ///
    /// ## Example
    /// ```yaml
    /// apiVersion: v1
    /// kind: Namespace
    /// metadata:
    ///   name: bookstore
    ///   labels:
    ///     openservicemesh.io/monitored-by: osm
    ///   annotations:
    ///     openservicemesh.io/sidecar-injection: enabled
    /// ---
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: bookstore
    /// spec:
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    ///       readinessProbe:
    ///         grpc:
    ///           port: 9090
    /// ```
    ///
    /// ## Use instead
    /// ```yaml
    /// apiVersion: v1
    /// kind: Namespace
    /// metadata:
    ///   name: bookstore
    ///   labels:
    ///     openservicemesh.io/monitored-by: osm
    ///   annotations:
    ///     openservicemesh.io/sidecar-injection: enabled
    /// ---
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: bookstore
    /// spec:
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    ///       readinessProbe:
    ///         exec:
    ///           command: [grpc_health_probe, -addr=127.0.0.1:9090]
    /// ```
    ///
    /// ## Fix safety
    /// There is no fix by machine: the image need not hold a command that asks.
    ///
    /// ## References
    /// - OSM v1.2.4, `pkg/injector/health_probes.go`
    /// - Issue #2543 of openservicemesh/osm
    "osm-grpc-probe", Error, fix: None, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    scene
        .handlers()
        .filter_map(|(pod, handler)| report(pod, handler))
        .collect()
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Option<Finding> {
    let is_osm = pod.mesh.value == Some(Mesh::Osm);
    if !is_osm || handler.verdict.cause != Cause::Other(Trouble::GrpcAtMtls) {
        return None;
    }
    let message = format!(
        "{} fails: OSM does not rewrite gRPC, and the port demands mutual TLS",
        handler.title()
    );
    let span = handler.handler.kind_span();
    let mut finding = scene::about_handler(&RULE, pod, handler, span, message);
    finding.help = Some(
        "use `exec` with grpc_health_probe at 127.0.0.1, or exclude the port from the redirect"
            .to_owned(),
    );
    Some(finding)
}
