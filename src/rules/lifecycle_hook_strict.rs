//! Rule `lifecycle-hook-strict`.

use super::rule::declare_rule;
use super::{Scene, enable_rewrite, scene};
use crate::finding::Finding;
use crate::kube::Slot;
use crate::predict::{Cause, HandlerPrediction, WorkloadPrediction};

declare_rule! {
    /// Finds lifecycle hooks over HTTP that reach a port under STRICT mutual TLS as they are.
    ///
    /// ## What it checks
    /// A `postStart` or `preStop` hook with `httpGet` on the pod itself, on a port that the sidecar
    /// captures and that demands mutual TLS, while the rewrite is switched off or the release does
    /// not rewrite hooks (before 1.25).
    ///
    /// ## Why it matters
    /// Hooks are sent by the kubelet, which has no certificate of the mesh: the sidecar closes the
    /// connection. A failed `preStop` is only an event, so the drain is skipped silently with every
    /// rollout. A failed `postStart` kills the container.
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
    ///       lifecycle:
    ///         preStop:
    ///           httpGet:
    ///             path: /drain
    ///             port: 8080
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
    ///   annotations:
    ///     sidecar.istio.io/rewriteAppHTTPProbers: "false"
    /// spec:
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    ///       lifecycle:
    ///         preStop:
    ///           exec:
    ///             command: [drain]
    /// ```
    ///
    /// ## Fix safety
    /// Switching the rewrite on is safe when every probe and hook of the pod keeps its meaning
    /// behind the agent, otherwise unsafe or only shown. There is no fix where the release does not
    /// rewrite hooks.
    ///
    /// ## References
    /// - Istio documentation: "Health Checking of Istio Services"
    /// - Istio reference: "PeerAuthentication"
    /// - Kubernetes documentation: "Container Lifecycle Hooks"
    "lifecycle-hook-strict", Error, fix: Sometimes, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let struck = scene.handlers().filter(|(_, handler)| {
        let cause = handler.verdict.cause;
        matches!(cause, Cause::PlaintextAtStrict | Cause::HttpsAtStrict)
            && handler.handler.slot.is_lifecycle()
    });
    struck
        .map(|(pod, handler)| report(scene, pod, handler))
        .collect()
}

fn report(
    scene: &Scene<'_, '_>,
    pod: &WorkloadPrediction<'_>,
    handler: &HandlerPrediction<'_>,
) -> Finding {
    let result = match handler.handler.slot {
        Slot::PostStart => "the kubelet then kills the container",
        _ => "the pod then stops without it",
    };
    let reason = match pod.release.value {
        Some(release) if pod.rewrite.value => format!("Istio {release} does not rewrite hooks"),
        _ => "the hook is not rewritten".to_owned(),
    };
    let message = format!(
        "{} will fail, and {result}: port {} demands mutual TLS (STRICT), and {reason}",
        handler.title(),
        handler.port_said(),
    );
    let span = handler.handler.key.span();
    let mut finding = scene::about_handler(&RULE, pod, handler, span, message);
    if enable_rewrite::cures(scene, pod, handler) {
        enable_rewrite::offer(scene, pod, &mut finding);
    }
    let help = "make it an exec hook, which asks 127.0.0.1";
    finding.help.get_or_insert_with(|| help.to_owned());
    finding
}
