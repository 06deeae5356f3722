//! Rule `consul-expose-query`.

use super::rule::declare_rule;
use super::{Scene, scene};
use crate::finding::Finding;
use crate::mesh::Mesh;
use crate::predict::{Cause, HandlerPrediction, Trouble, WorkloadPrediction};

declare_rule! {
    /// Finds probe paths with a query that Consul exposes to the letter.
    ///
    /// ## What it checks
    /// An `httpGet` probe with a `?` in its path, in a pod whose probes Consul rewrites.
    ///
    /// ## Why it matters
    /// Consul exposes the path of the probe, and the proxy compares it without the query: the route
    /// may never match, so that the probe gets an error for an answer. This follows from what Consul
    /// registers, it was not run.
    ///
    /// ## Example
    /// ```yaml
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: demo
    ///   annotations:
    ///     consul.hashicorp.com/connect-inject: "true"
    /// spec:
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    ///       livenessProbe:
    ///         httpGet:
    ///           path: /healthz?full=1
    ///           port: 8080
    /// ```
    ///
    /// ## Use instead
    /// ```yaml
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: demo
    ///   annotations:
    ///     consul.hashicorp.com/connect-inject: "true"
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
    /// There is no fix by machine: what the query asks for is the application's.
    ///
    /// ## References
    /// - consul-k8s, `control-plane/connect-inject/controllers/endpoints/endpoints_controller.go`
    "consul-expose-query", Warning, fix: None, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    scene
        .handlers()
        .filter_map(|(pod, handler)| report(pod, handler))
        .collect()
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Option<Finding> {
    if pod.mesh.value != Some(Mesh::Consul)
        || handler.verdict.cause != Cause::Other(Trouble::QueryInPath)
    {
        return None;
    }
    let message = format!(
        "{} has a query, which Consul takes for a part of the path",
        handler.title()
    );
    let span = handler.handler.field_span("path");
    let mut finding = scene::about_handler(&RULE, pod, handler, span, message);
    finding.help = Some("ask a path without a query".to_owned());
    Some(finding)
}
