//! Rule `https-probe-plain-listener`.

use super::rule::declare_rule;
use super::{Scene, scene};
use crate::finding::Finding;
use crate::mesh::Mesh;
use crate::predict::{Cause, HandlerPrediction, Trouble, WorkloadPrediction};

declare_rule! {
    /// Finds HTTPS probes that a mesh points at a listener for plain HTTP.
    ///
    /// ## What it checks
    /// A probe with `scheme: HTTPS` of a pod whose mesh rewrites it as if it were HTTP: OSM 0.7 and
    /// 0.8, Kuma up to 2.8, Consul.
    ///
    /// ## Why it matters
    /// The kubelet opens TLS at a listener that speaks plain HTTP. The handshake fails, whatever the
    /// application does.
    ///
    /// ## Example
    /// ```yaml
    /// # meshprobe check --mesh osm --mesh-version 0.8
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
    ///       livenessProbe:
    ///         httpGet:
    ///           path: /healthz
    ///           port: 8443
    ///           scheme: HTTPS
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
    ///       livenessProbe:
    ///         httpGet:
    ///           path: /healthz
    ///           port: 8443
    ///           scheme: HTTPS
    /// ```
    ///
    /// ## Fix safety
    /// There is no fix by machine: whether the application speaks plain HTTP somewhere is not known.
    ///
    /// ## References
    /// - OSM v0.8, `pkg/injector/health_probes.go`
    "https-probe-plain-listener", Error, fix: None, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    scene
        .handlers()
        .filter_map(|(pod, handler)| report(pod, handler))
        .collect()
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Option<Finding> {
    if handler.verdict.cause != Cause::Other(Trouble::PlainListener) {
        return None;
    }
    let mesh = pod.mesh.value.map_or("the mesh", Mesh::title);
    let message = format!(
        "{} fails: {mesh} points it at a listener that speaks plain HTTP",
        handler.title()
    );
    let span = handler.handler.field_span("scheme");
    let mut finding = scene::about_handler(&RULE, pod, handler, span, message);
    finding.help =
        Some("let the check be plain HTTP, or make it an `exec` that asks 127.0.0.1".to_owned());
    Some(finding)
}
