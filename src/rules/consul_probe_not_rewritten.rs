//! Rule `consul-probe-not-rewritten`.

use super::rule::declare_rule;
use super::{Scene, scene};
use crate::finding::Finding;
use crate::mesh::Mesh;
use crate::predict::{Cause, HandlerPrediction, Trouble, WorkloadPrediction};

declare_rule! {
    /// Finds tcpSocket and gRPC probes of pods that Consul injects.
    ///
    /// ## What it checks
    /// A `tcpSocket` or `grpc` probe of a pod that Consul injects with a transparent proxy, on a port
    /// that the redirect does not leave alone.
    ///
    /// ## Why it matters
    /// Consul rewrites `httpGet` and nothing else. The proxy accepts every connection, so a
    /// `tcpSocket` probe can never fail; a `grpc` probe in plain text meets mutual TLS and fails for
    /// ever.
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
    ///         tcpSocket:
    ///           port: 8080
    ///       readinessProbe:
    ///         grpc:
    ///           port: 9090
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
    /// There is no fix by machine: whether the application speaks HTTP somewhere is not known.
    ///
    /// ## References
    /// - consul-k8s, `control-plane/connect-inject/webhook/mesh_webhook.go`
    "consul-probe-not-rewritten", Error, fix: None, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    scene
        .handlers()
        .filter_map(|(pod, handler)| report(pod, handler))
        .collect()
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Option<Finding> {
    if pod.mesh.value != Some(Mesh::Consul) {
        return None;
    }
    let what = match handler.verdict.cause {
        Cause::SidecarAccepts => "can never fail: the proxy accepts every connection",
        Cause::Other(Trouble::GrpcAtMtls) => "fails: plain text meets mutual TLS",
        _ => return None,
    };
    let message = format!(
        "{} {what}; Consul rewrites `httpGet` alone",
        handler.title()
    );
    let span = handler.handler.kind_span();
    let mut finding = scene::about_handler(&RULE, pod, handler, span, message);
    finding.help = Some(
        "make the check an `httpGet` or an `exec`, or exclude the port from the redirect"
            .to_owned(),
    );
    Some(finding)
}
