//! Rule `grpc-probe-needs-1-13`.

use super::rule::declare_rule;
use super::{Scene, release_gap};
use crate::finding::Finding;
use crate::kube::{Action, ContainerList};

declare_rule! {
    /// Finds gRPC probes that the release of Istio is too old to rewrite.
    ///
    /// ## What it checks
    /// A `grpc` probe of a container in a pod with a sidecar that Istio before 1.13 injects, on a captured
    /// port that demands mutual TLS, or whose Service port is declared as HTTP/1.1.
    ///
    /// ## Why it matters
    /// The rewrite knows `grpc` since 1.13. Before, the kubelet asks the port itself, without a certificate
    /// of the mesh, and the sidecar refuses it: the probe fails on a healthy server, whatever the switch of
    /// the rewrite says.
    ///
    /// ## Example
    /// ```yaml
    /// # meshprobe check --mesh-version 1.12
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
    ///     mode: STRICT
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
    ///         grpc:
    ///           port: 9090
    /// ```
    ///
    /// ## Use instead
    /// ```yaml
    /// # meshprobe check --mesh-version 1.12
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
    ///     mode: STRICT
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
    ///         exec:
    ///           command: [/bin/grpc_health_probe, -addr=:9090]
    /// ```
    ///
    /// ## Fix safety
    /// There is no fix by machine: which command asks the server from within is for you to say.
    ///
    /// ## References
    /// - Istio documentation: "Upgrade Notes"
    /// - Istio documentation: "Health Checking of Istio Services"
    "grpc-probe-needs-1-13", Error, fix: None, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    release_gap::report(&RULE, scene, |handler| {
        let is_grpc = matches!(handler.handler.action, Ok(Action::Grpc { .. }));
        (is_grpc && handler.container.list == ContainerList::Main).then_some("gRPC probes")
    })
}
