//! Rule `https-probe-on-http-service-port`.

use super::rule::declare_rule;
use super::{Scene, service_port};
use crate::finding::Finding;
use crate::predict::Cause;

declare_rule! {
    /// Finds HTTPS probes on a port that a Service declares as plain HTTP.
    ///
    /// ## What it checks
    /// An `httpGet` probe or hook with scheme HTTPS that is not rewritten, on a port that the
    /// sidecar captures, where mutual TLS is not demanded and the Service port that leads there is
    /// named `http`, `http2` or `grpc` (or says so in `appProtocol`).
    ///
    /// ## Why it matters
    /// The sidecar expects HTTP on such a port. TLS that is not the mesh's own matches none of its
    /// filter chains, so the connection is reset although the application is up. Where mutual TLS
    /// is switched off, the TLS greeting is answered as if it were a bad HTTP request.
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
    ///     - name: http-web
    ///       port: 8443
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
    ///           port: 8443
    ///           scheme: HTTPS
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
    ///     - name: https-web
    ///       port: 8443
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
    ///           port: 8443
    ///           scheme: HTTPS
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
    "https-probe-on-http-service-port", Error, fix: Sometimes, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let struck = scene.handlers().filter(|(_, handler)| {
        handler.verdict.cause == Cause::HttpsAtHttpPort && service_port::decides(handler)
    });
    struck
        .map(|(pod, handler)| {
            let message = format!(
                "{} will fail: {} declares port {} as HTTP, and the sidecar passes no TLS on there",
                handler.title(),
                service_port::service(scene, pod, handler),
                handler.port.unwrap_or_default(),
            );
            let help = "a Service port named `https-…`, or with `appProtocol: https`, would do too";
            service_port::finding(&RULE, scene, (pod, handler), message, help)
        })
        .collect()
}
