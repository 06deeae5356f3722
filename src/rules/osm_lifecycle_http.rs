//! Rule `osm-lifecycle-http`.

use super::rule::declare_rule;
use super::{Scene, scene};
use crate::finding::Finding;
use crate::mesh::Mesh;
use crate::predict::{Cause, HandlerPrediction, Trouble, WorkloadPrediction};

declare_rule! {
    /// Finds HTTP hooks at ports that OSM guards by mutual TLS.
    ///
    /// ## What it checks
    /// A `postStart` or `preStop` hook with `httpGet`, in a pod that OSM injects, on a port that the
    /// redirect does not leave alone.
    ///
    /// ## Why it matters
    /// OSM rewrites probes and leaves hooks as they are. The kubelet calls in plain text, the inbound
    /// listener demands mutual TLS: a failed `postStart` kills the container, a failed `preStop` is
    /// only reported.
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
    ///       lifecycle:
    ///         postStart:
    ///           httpGet:
    ///             path: /start
    ///             port: 8080
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
    ///       lifecycle:
    ///         postStart:
    ///           exec:
    ///             command: [curl, -f, "http://127.0.0.1:8080/start"]
    /// ```
    ///
    /// ## Fix safety
    /// There is no fix by machine: the command depends on what the image holds.
    ///
    /// ## References
    /// - OSM v1.2.4, `pkg/injector/health_probes.go`
    "osm-lifecycle-http", Warning, fix: None, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    scene
        .handlers()
        .filter_map(|(pod, handler)| report(pod, handler))
        .collect()
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Option<Finding> {
    let is_osm = pod.mesh.value == Some(Mesh::Osm);
    if !is_osm || handler.verdict.cause != Cause::Other(Trouble::HookAtMtls) {
        return None;
    }
    let message = format!(
        "{} fails: OSM does not rewrite hooks, and the port demands mutual TLS",
        handler.title()
    );
    let span = handler.handler.kind_span();
    let mut finding = scene::about_handler(&RULE, pod, handler, span, message);
    finding.help = Some("use `exec`, or exclude the port from the redirect".to_owned());
    Some(finding)
}
