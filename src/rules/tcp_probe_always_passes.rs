//! Rule `tcp-probe-always-passes`.

use super::rule::declare_rule;
use super::{Scene, switched_off};
use crate::context::Dataplane;
use crate::finding::Finding;
use crate::predict::Cause;

declare_rule! {
    /// Finds tcpSocket probes that the sidecar answers in place of the application.
    ///
    /// ## What it checks
    /// A `tcpSocket` probe of a pod with a sidecar, on a port that the sidecar captures, while the
    /// probe rewrite is switched off. The mode of mutual TLS plays no part.
    ///
    /// ## Why it matters
    /// The redirect hands the connection to the sidecar, which accepts it before any filter chain,
    /// mode or policy is looked at. The kubelet only checks that it can connect. So the probe passes
    /// while the application is dead, and nobody is told.
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
    ///         tcpSocket:
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
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: shop
    /// spec:
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    ///       livenessProbe:
    ///         tcpSocket:
    ///           port: 8080
    /// ```
    ///
    /// ## Fix safety
    /// Switching the rewrite on is safe when every probe and hook of the pod keeps its meaning
    /// behind the agent. Where one would be spoiled (a probe of another host, a port name that
    /// resolves nowhere) the fix is only shown; otherwise it is unsafe.
    /// There is no fix where the manifest brings its own sidecar and nobody injects the pod.
    /// From then on the probe can fail.
    ///
    /// ## References
    /// - Istio documentation: "Health Checking of Istio Services"
    /// - Istio 1.12 upgrade notes: rewrite of TCP probes
    "tcp-probe-always-passes", Error, fix: Sometimes, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    switched_off::report(
        &RULE,
        scene,
        |pod, handler| {
            // Other meshes have no such switch, and rules of their own.
            let has_switch = pod.dataplane.value != Dataplane::Other;
            // A number in quotes is refused before anybody asks it.
            has_switch && handler.port.is_some() && handler.verdict.cause == Cause::SidecarAccepts
        },
        |_, handler| {
            format!(
                "{} can never fail: the sidecar accepts connections to port {} even when the \
                 application is dead",
                handler.title(),
                handler.port.unwrap_or_default(),
            )
        },
    )
}
