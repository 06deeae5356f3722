//! Rule `strict-probe-not-rewritten`.

use super::rule::declare_rule;
use super::{Scene, enable_rewrite, scene};
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
    ///
    /// ## References
    /// - Istio documentation: "Health Checking of Istio Services"
    /// - Istio reference: "PeerAuthentication"
    "strict-probe-not-rewritten", Error, fix: Always, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let struck = scene.handlers().filter(|(pod, handler)| {
        handler.verdict.cause == Cause::PlaintextAtStrict
            && !pod.rewrite.value
            && !handler.handler.slot.is_lifecycle()
    });
    struck
        .map(|(pod, handler)| {
            let message = format!(
                "{} will fail: port {} demands mutual TLS (STRICT) and the probe is not rewritten",
                handler.title(),
                handler.port.unwrap_or_default(),
            );
            let span = handler.handler.key.span();
            let mut finding = scene::about_handler(&RULE, pod, handler, span, message);
            enable_rewrite::offer(scene, pod, &mut finding);
            finding
        })
        .collect()
}
