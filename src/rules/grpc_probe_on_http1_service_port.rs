//! Rule `grpc-probe-on-http1-service-port`.

use super::rule::declare_rule;
use super::{Scene, service_port};
use crate::finding::Finding;
use crate::predict::Cause;

declare_rule! {
    /// Finds gRPC probes on a port that a Service declares as HTTP/1.1.
    ///
    /// ## What it checks
    /// A `grpc` probe that is not rewritten, on a port that the sidecar captures, where mutual TLS
    /// is not demanded and the Service port that leads there is named `http` (or says so in
    /// `appProtocol`).
    ///
    /// ## Why it matters
    /// A port that is named `http` has the sidecar speak HTTP/1.1 to the application, whatever the
    /// client spoke. A gRPC server does not understand it, so the check fails although the
    /// application is up. Ports named `grpc` or `tcp`, ports without a protocol in their name and
    /// ports in no Service are fine.
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
    ///     - name: http-api
    ///       port: 9090
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
    ///         grpc:
    ///           port: 9090
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
    ///     - name: grpc-api
    ///       port: 9090
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
    ///         grpc:
    ///           port: 9090
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
    "grpc-probe-on-http1-service-port", Error, fix: Sometimes, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let struck = scene.handlers().filter(|(_, handler)| {
        handler.verdict.cause == Cause::GrpcAtHttp1Port && service_port::decides(handler)
    });
    struck
        .map(|(pod, handler)| {
            let message = format!(
                "{} will fail: {} declares port {} as HTTP, so the sidecar speaks HTTP/1.1 to the gRPC server",
                handler.title(),
                service_port::service(scene, pod, handler),
                handler.port.unwrap_or_default(),
            );
            let help = "a Service port named `grpc-…`, or with `appProtocol: grpc`, would do too";
            service_port::finding(&RULE, scene, (pod, handler), message, help)
        })
        .collect()
}
