//! Rule `osm-tcp-probe-accepted`.

use super::rule::declare_rule;
use super::{Scene, scene};
use crate::finding::Finding;
use crate::mesh::Mesh;
use crate::predict::{Cause, HandlerPrediction, WorkloadPrediction};

declare_rule! {
    /// Finds tcpSocket probes that the proxy of OSM accepts whatever the application does.
    ///
    /// ## What it checks
    /// A `tcpSocket` probe of a pod that OSM injects in a release before 1.1, which leaves such
    /// probes as they are or only changes their port; and one of a pod that was injected already and
    /// still has a `tcpSocket`.
    ///
    /// ## Why it matters
    /// The proxy accepts every connection before it looks for the application. The probe can never
    /// fail, so nobody notices a dead application. From 1.1 on a helper in the pod makes the check.
    ///
    /// ## Example
    /// ```yaml
    /// # meshprobe check --mesh osm --mesh-version 1.0
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
    ///         tcpSocket:
    ///           port: 8080
    /// ```
    ///
    /// ## Use instead
    /// ```yaml
    /// # meshprobe check --mesh osm --mesh-version 1.2
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
    ///         tcpSocket:
    ///           port: 8080
    /// ```
    ///
    /// ## Fix safety
    /// There is no fix by machine: the release of the mesh is not the manifest's.
    ///
    /// ## References
    /// - OSM v1.0 and v1.1, `pkg/injector/health_probes.go`
    "osm-tcp-probe-accepted", Error, fix: None, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    scene
        .handlers()
        .filter_map(|(pod, handler)| report(pod, handler))
        .collect()
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Option<Finding> {
    let is_osm = pod.mesh.value == Some(Mesh::Osm);
    if !is_osm || handler.verdict.cause != Cause::SidecarAccepts {
        return None;
    }
    let message = format!(
        "{} can never fail: the proxy of OSM accepts every connection",
        handler.title()
    );
    let span = handler.handler.kind_span();
    let mut finding = scene::about_handler(&RULE, pod, handler, span, message);
    finding.help =
        Some("make the check an `httpGet` or an `exec`, or update OSM to 1.1 or later".to_owned());
    Some(finding)
}
