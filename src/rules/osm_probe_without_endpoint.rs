//! Rule `osm-probe-without-endpoint`.

use super::rule::declare_rule;
use super::{Scene, scene};
use crate::finding::Finding;
use crate::predict::{Cause, HandlerPrediction, Trouble, WorkloadPrediction};

declare_rule! {
    /// Finds probes that point at the proxy of OSM, where nothing answers them.
    ///
    /// ## What it checks
    /// A pod that carries the proxy of OSM, and a probe on 15901 to 15903 while the container `envoy`
    /// does not declare that port, or with a path that OSM gives to no probe; or a probe on 15904
    /// while there is no container `osm-healthcheck`, or without the header `Original-Tcp-Port`.
    ///
    /// ## Why it matters
    /// After the probe itself the endpoint behind it is the next thing that OSM's own guide looks at:
    /// 15901 to 15903 are listeners of the proxy, 15904 is the helper. A pod that meets the webhook
    /// twice, as with `kubectl debug`, or whose containers compete for one listener, is left with
    /// probes that nothing answers.
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
    ///     - name: envoy
    ///       image: registry.example/envoy:1
    ///       ports:
    ///         - containerPort: 15000
    ///         - containerPort: 15003
    ///         - containerPort: 15010
    ///         - containerPort: 15902
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
    /// There is no fix by machine: the bootstrap of the proxy is made at admission. Create the pod
    /// anew.
    ///
    /// ## References
    /// - OSM documentation: "Application Container Lifecycle", "Troubleshooting health probes"
    "osm-probe-without-endpoint", Error, fix: None, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    scene
        .handlers()
        .filter_map(|(pod, handler)| report(pod, handler))
        .collect()
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Option<Finding> {
    let what = match handler.verdict.cause {
        Cause::Other(Trouble::NoListener) => "points at the proxy, which has no listener for it",
        Cause::Other(Trouble::NoHelper) => {
            "points at the helper, which is missing or is not told the port"
        }
        _ => return None,
    };
    let message = format!("{} {what}", handler.title());
    let span = handler.handler.field_span("port");
    let mut finding = scene::about_handler(&RULE, pod, handler, span, message);
    finding.help = Some(
        "create the pod anew from its original manifest; `predict --explain` shows what is expected"
            .to_owned(),
    );
    Some(finding)
}
