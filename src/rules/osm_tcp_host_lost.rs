//! Rule `osm-tcp-host-lost`.

use super::rule::declare_rule;
use super::{Scene, scene};
use crate::finding::Finding;
use crate::predict::{Cause, HandlerPrediction, Trouble, WorkloadPrediction};

declare_rule! {
    /// Finds tcpSocket probes whose host OSM drops.
    ///
    /// ## What it checks
    /// A `tcpSocket` probe with a `host`, in a pod that OSM injects.
    ///
    /// ## Why it matters
    /// OSM turns the probe into a request to a helper in the pod, which opens the port on 127.0.0.1.
    /// The host is not passed on: the pod tests itself in place of the host that was meant.
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
    ///         tcpSocket:
    ///           host: db.example
    ///           port: 5432
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
    ///           command: [nc, -z, db.example, "5432"]
    /// ```
    ///
    /// ## Fix safety
    /// There is no fix by machine: only the owner knows which host is meant.
    ///
    /// ## References
    /// - OSM v1.2.4, `pkg/injector/health_probes.go` and `envoy_config_health_probes.go`
    "osm-tcp-host-lost", Warning, fix: None, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    scene
        .handlers()
        .filter_map(|(pod, handler)| report(pod, handler))
        .collect()
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Option<Finding> {
    if handler.verdict.cause != Cause::Other(Trouble::HostLost) {
        return None;
    }
    let message = format!(
        "{} tests the pod itself: OSM drops the host of a tcpSocket",
        handler.title()
    );
    let span = handler.handler.field_span("host");
    let mut finding = scene::about_handler(&RULE, pod, handler, span, message);
    finding.help =
        Some("leave `host` out if the pod is meant, else make the check an `exec`".to_owned());
    Some(finding)
}
