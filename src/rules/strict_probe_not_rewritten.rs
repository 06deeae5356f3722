//! Rule `strict-probe-not-rewritten`.

use super::rule::declare_rule;
use super::{Scene, rewrite_off_before_1_6, switched_off};
use crate::finding::Finding;
use crate::predict::Cause;

declare_rule! {
    /// Finds plain HTTP and gRPC probes that reach a port under STRICT mutual TLS as they are.
    ///
    /// ## What it checks
    /// An `httpGet` (scheme HTTP) or `grpc` probe of a pod with a sidecar, on a port that the
    /// sidecar captures and that demands mutual TLS, while the probe rewrite is switched off.
    ///
    /// ## Why it matters
    /// The kubelet has no certificate of the mesh. Under STRICT the sidecar knows no filter chain
    /// for plain text, so it resets the connection whether the application is up or down: the
    /// container is restarted, or never becomes ready. A gRPC probe sees no reset; it waits out
    /// its whole timeout.
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
    /// apiVersion: security.istio.io/v1
    /// kind: PeerAuthentication
    /// metadata:
    ///   name: default
    ///   namespace: shop
    /// spec:
    ///   mtls:
    ///     mode: STRICT
    /// ---
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: shop
    ///   annotations:
    ///     sidecar.istio.io/rewriteAppHTTPProbers: "false"
    /// spec:
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    ///       readinessProbe:
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
    /// apiVersion: security.istio.io/v1
    /// kind: PeerAuthentication
    /// metadata:
    ///   name: default
    ///   namespace: shop
    /// spec:
    ///   mtls:
    ///     mode: STRICT
    /// ---
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: shop
    /// spec:
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    ///       readinessProbe:
    ///         httpGet:
    ///           path: /healthz
    ///           port: 8080
    /// ```
    ///
    /// ## Fix safety
    /// Switching the rewrite on is safe when every probe and hook of the pod keeps its meaning
    /// behind the agent. Where one would be spoiled (a probe of another host, a port name that
    /// resolves nowhere) the fix is only shown; otherwise it is unsafe.
    /// There is no fix where the manifest brings its own sidecar and nobody injects the pod.
    ///
    /// ## References
    /// - Istio documentation: "Health Checking of Istio Services"
    /// - Istio reference: "PeerAuthentication"
    "strict-probe-not-rewritten", Error, fix: Sometimes, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    switched_off::report(
        &RULE,
        scene,
        |pod, handler| {
            handler.verdict.cause == Cause::PlaintextAtStrict
                && rewrite_off_before_1_6::release(pod).is_none()
        },
        |_, handler| {
            format!(
                "{} will fail: port {} demands mutual TLS (STRICT) and the probe is not rewritten",
                handler.title(),
                handler.port_said(),
            )
        },
    )
}
