//! Rule `https-probe-strict`.

use super::rule::declare_rule;
use super::{Scene, rewrite_off_before_1_6, switched_off};
use crate::finding::Finding;
use crate::predict::Cause;

declare_rule! {
    /// Finds HTTPS probes that end at a sidecar which demands a client certificate.
    ///
    /// ## What it checks
    /// An `httpGet` probe with scheme HTTPS of a pod with a sidecar, on a port that the sidecar
    /// captures and that demands mutual TLS, while the probe rewrite is switched off.
    ///
    /// ## Why it matters
    /// The kubelet speaks TLS but has no certificate to show. The sidecar ends the handshake before
    /// the application sees a byte: the container is restarted, or never becomes ready. The kubelet's
    /// text varies by race between the alert, a broken pipe and an unexpected EOF.
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
    ///       livenessProbe:
    ///         httpGet:
    ///           path: /healthz
    ///           port: 8443
    ///           scheme: HTTPS
    /// ```
    ///
    /// ## Fix safety
    /// Switching the rewrite on is safe when every probe and hook of the pod keeps its meaning
    /// behind the agent. Where one would be spoiled (a probe of another host, a port name that
    /// resolves nowhere) the fix is only shown; otherwise it is unsafe.
    /// There is no fix where the manifest brings its own sidecar and nobody injects the pod.
    /// The agent makes the HTTPS request itself and does not verify the certificate.
    ///
    /// ## References
    /// - Istio documentation: "Health Checking of Istio Services"
    /// - Istio reference: "PeerAuthentication"
    "https-probe-strict", Error, fix: Sometimes, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    switched_off::report(
        &RULE,
        scene,
        |pod, handler| {
            handler.verdict.cause == Cause::HttpsAtStrict
                && rewrite_off_before_1_6::release(pod).is_none()
        },
        |_, handler| {
            format!(
                "{} will fail: its TLS ends at the sidecar, which demands a client certificate on \
                 port {} (STRICT)",
                handler.title(),
                handler.port_said(),
            )
        },
    )
}
