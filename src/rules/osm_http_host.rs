//! Rule `osm-http-host`.

use super::rule::declare_rule;
use super::{Scene, scene};
use crate::finding::Finding;
use crate::mesh::Mesh;
use crate::predict::{Cause, HandlerPrediction, Trouble, WorkloadPrediction};

declare_rule! {
    /// Finds httpGet probes with a host in pods that OSM injects.
    ///
    /// ## What it checks
    /// An `httpGet` probe with a `host`, in a pod that OSM injects.
    ///
    /// ## Why it matters
    /// OSM keeps the host and changes the port: the kubelet asks that host on port 15901, 15902 or
    /// 15903, where only the proxy of the pod listens. A name for the `Host` header belongs in
    /// `httpHeaders`.
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
    ///       livenessProbe:
    ///         httpGet:
    ///           host: app.example
    ///           path: /healthz
    ///           port: 8080
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
    ///           port: 8080
    ///           httpHeaders:
    ///             - name: Host
    ///               value: app.example
    /// ```
    ///
    /// ## Fix safety
    /// There is no fix by machine: a host may be meant as an address or as a name.
    ///
    /// ## References
    /// - OSM v1.2.4, `pkg/injector/health_probes.go` and `envoy_config_health_probes.go`
    "osm-http-host", Warning, fix: None, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    scene
        .handlers()
        .filter_map(|(pod, handler)| report(pod, handler))
        .collect()
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Option<Finding> {
    let is_osm = pod.mesh.value == Some(Mesh::Osm);
    if !is_osm || handler.verdict.cause != Cause::Other(Trouble::HostKept) {
        return None;
    }
    let port = handler.becomes.as_ref().map_or(0, |becomes| becomes.port);
    let message = format!(
        "{} asks its host on port {port}, where nothing of the pod is",
        handler.title()
    );
    let span = handler.handler.field_span("host");
    let mut finding = scene::about_handler(&RULE, pod, handler, span, message);
    finding.help =
        Some("leave `host` out; a name for the application goes into the header `Host`".to_owned());
    Some(finding)
}
