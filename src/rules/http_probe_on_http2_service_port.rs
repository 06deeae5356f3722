//! Rule `http-probe-on-http2-service-port`.

use super::rule::declare_rule;
use super::{Scene, service_port};
use crate::finding::Finding;
use crate::predict::Cause;

declare_rule! {
    /// Finds plain HTTP probes on a port that a Service declares as HTTP/2 or gRPC.
    ///
    /// ## What it checks
    /// An `httpGet` probe or hook with scheme HTTP that is not rewritten, on a port that the
    /// sidecar captures, where mutual TLS is not demanded and the Service port that leads there is
    /// named `http2` or `grpc` (or says so in `appProtocol`).
    ///
    /// ## Why it matters
    /// The kubelet speaks HTTP/1.1, but the sidecar turns the request into HTTP/2 for such a port.
    /// An application that answers HTTP/1.1 only gives 502. One that takes both passes, which is
    /// why this is a warning.
    ///
    /// ## Example
    /// ```yaml
    /// apiVersion: v1
    /// kind: Namespace
    /// metadata:
    ///   name: shop
    ///   labels:
    ///     istio-injection: enabled
    /// ---
    /// apiVersion: v1
    /// kind: Service
    /// metadata:
    ///   name: web
    ///   namespace: shop
    /// spec:
    ///   selector:
    ///     app: web
    ///   ports:
    ///     - name: grpc-api
    ///       port: 8080
    /// ---
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: shop
    ///   labels:
    ///     app: web
    ///   annotations:
    ///     sidecar.istio.io/rewriteAppHTTPProbers: "false"
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
    /// ## Use instead
    /// ```yaml
    /// apiVersion: v1
    /// kind: Namespace
    /// metadata:
    ///   name: shop
    ///   labels:
    ///     istio-injection: enabled
    /// ---
    /// apiVersion: v1
    /// kind: Service
    /// metadata:
    ///   name: web
    ///   namespace: shop
    /// spec:
    ///   selector:
    ///     app: web
    ///   ports:
    ///     - name: http-api
    ///       port: 8080
    /// ---
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: shop
    ///   labels:
    ///     app: web
    ///   annotations:
    ///     sidecar.istio.io/rewriteAppHTTPProbers: "false"
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
    /// Switching the rewrite on is safe when every probe and hook of the pod keeps its meaning
    /// behind the agent; otherwise it is unsafe or only shown. A hook that the release does not
    /// rewrite has no fix by machine, and renaming a Service port is left to you: other clients
    /// depend on the name.
    ///
    /// ## References
    /// - Istio documentation: "Protocol Selection"
    /// - Istio documentation: "Health Checking of Istio Services"
    "http-probe-on-http2-service-port", Warning, fix: Sometimes, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let struck = scene.handlers().filter(|(_, handler)| {
        handler.verdict.cause == Cause::HttpAtHttp2Port && service_port::decides(handler)
    });
    struck
        .map(|(pod, handler)| {
            let message = format!(
                "{} will fail unless the application takes HTTP/2 without TLS: {} declares port {} as \
                 HTTP/2, so the sidecar speaks it",
                handler.title(),
                service_port::service(scene, pod, handler),
                handler.port.unwrap_or_default(),
            );
            let help = "a Service port named `http-…`, or without a protocol, would do too";
            service_port::finding(&RULE, scene, (pod, handler), message, help)
        })
        .collect()
}
