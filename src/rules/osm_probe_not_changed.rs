//! Rule `osm-probe-not-changed`.

use super::rule::declare_rule;
use super::{Scene, scene};
use crate::finding::Finding;
use crate::predict::{Cause, HandlerPrediction, Trouble, WorkloadPrediction};

declare_rule! {
    /// Finds probes that OSM should have changed and did not, in pods that it has injected.
    ///
    /// ## What it checks
    /// A pod that carries the proxy of OSM, and a probe with `httpGet` that asks a port of the
    /// application. This is the first thing that OSM's own guide looks for: a liveness probe is
    /// expected on 15901, a readiness probe on 15902, a startup probe on 15903.
    ///
    /// ## Why it matters
    /// The inbound listener demands mutual TLS, which the kubelet does not speak: the probe fails
    /// although the application is up. It was added after injection, or by another webhook.
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
    ///           path: /healthz
    ///           port: 8080
    ///     - name: envoy
    ///       image: registry.example/envoy:1
    ///       ports:
    ///         - containerPort: 15000
    ///         - containerPort: 15003
    ///         - containerPort: 15010
    ///         - containerPort: 15901
    ///   volumes:
    ///     - name: envoy-bootstrap-config-volume
    ///       secret:
    ///         secretName: envoy-bootstrap-config-1
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
    ///           path: /osm-liveness-probe
    ///           port: 15901
    ///     - name: envoy
    ///       image: registry.example/envoy:1
    ///       ports:
    ///         - containerPort: 15000
    ///         - containerPort: 15003
    ///         - containerPort: 15010
    ///         - containerPort: 15901
    ///   volumes:
    ///     - name: envoy-bootstrap-config-volume
    ///       secret:
    ///         secretName: envoy-bootstrap-config-1
    /// ```
    ///
    /// ## Fix safety
    /// There is no fix by machine: the listener has to be made by the webhook. Delete the pod, so
    /// that it is injected anew.
    ///
    /// ## References
    /// - OSM documentation: "Application Container Lifecycle", "Troubleshooting health probes"
    "osm-probe-not-changed", Error, fix: None, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    scene
        .handlers()
        .filter_map(|(pod, handler)| report(pod, handler))
        .collect()
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Option<Finding> {
    if handler.verdict.cause != Cause::Other(Trouble::NotChanged) {
        return None;
    }
    let message = format!(
        "{} was not changed by OSM, and the port demands mutual TLS",
        handler.title()
    );
    let span = handler.handler.field_span("port");
    let mut finding = scene::about_handler(&RULE, pod, handler, span, message);
    finding.help = Some(
        "let the webhook see the probe: create the pod anew from its original manifest".to_owned(),
    );
    Some(finding)
}
