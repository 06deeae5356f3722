//! Rule `osm-already-rewritten`.

use super::rule::declare_rule;
use super::{Scene, scene};
use crate::finding::Finding;
use crate::mesh::osm::HEALTHCHECK_PORT;
use crate::predict::{Cause, HandlerPrediction, Trouble, WorkloadPrediction};

declare_rule! {
    /// Finds probes that were rewritten for OSM before OSM has seen them.
    ///
    /// ## What it checks
    /// A probe at one of the paths that OSM gives to probes, on port 15901 to 15904, in a pod that
    /// does not carry the proxy yet. Where the pod is not injected, a container of its own that
    /// declares the port will do.
    ///
    /// ## Why it matters
    /// OSM records what it finds as the original. A probe that names port 15901 already makes the
    /// proxy ask itself there, without end; one that names the helper is turned into one that has no
    /// helper. Without injection nothing listens at all.
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
    ///           path: /osm-liveness-probe
    ///           port: 15901
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
    /// ```
    ///
    /// ## Fix safety
    /// There is no fix by machine: the original is not in the manifest.
    ///
    /// ## References
    /// - OSM v1.2.4, `pkg/injector/health_probes.go` and `envoy_config_health_probes.go`
    "osm-already-rewritten", Error, fix: None, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    scene
        .handlers()
        .filter_map(|(pod, handler)| report(pod, handler))
        .collect()
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Option<Finding> {
    let what = match handler.verdict.cause {
        Cause::Other(Trouble::AsksItself) if handler.port == Some(HEALTHCHECK_PORT) => {
            "is rewritten already: OSM points it at its proxy, and adds no helper that answers"
        }
        Cause::Other(Trouble::AsksItself) => {
            "is rewritten already: OSM records it as the original, and the proxy asks itself"
        }
        Cause::Other(Trouble::WithoutProxy) => {
            "points at the proxy of OSM, which this pod does not get"
        }
        _ => return None,
    };
    let message = format!("{} {what}", handler.title());
    let span = handler.handler.field_span("port");
    let mut finding = scene::about_handler(&RULE, pod, handler, span, message);
    finding.help = Some(
        "write the port and path of the application; OSM rewrites them at admission".to_owned(),
    );
    Some(finding)
}
