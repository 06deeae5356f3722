//! Rule `appmesh-tcp-probe-always-true`.

use super::rule::declare_rule;
use super::{Scene, scene};
use crate::finding::Finding;
use crate::mesh::Mesh;
use crate::predict::{Cause, HandlerPrediction, WorkloadPrediction};

declare_rule! {
    /// Finds tcpSocket probes that the proxy of App Mesh answers.
    ///
    /// ## What it checks
    /// A `tcpSocket` probe at a port that App Mesh redirects.
    ///
    /// ## Why it matters
    /// The proxy accepts the connection before it opens one to the application, so the probe passes
    /// even when the application is dead.
    ///
    /// ## Example
    /// ```yaml
    /// apiVersion: v1
    /// kind: Namespace
    /// metadata:
    ///   name: demo
    ///   labels:
    ///     appmesh.k8s.aws/sidecarInjectorWebhook: enabled
    /// ---
    /// apiVersion: appmesh.k8s.aws/v1beta2
    /// kind: VirtualNode
    /// metadata:
    ///   name: web
    ///   namespace: demo
    /// spec:
    ///   podSelector:
    ///     matchLabels:
    ///       app: web
    ///   listeners:
    ///     - portMapping:
    ///         port: 8080
    ///         protocol: http
    ///       tls:
    ///         mode: PERMISSIVE
    ///         certificate:
    ///           file:
    ///             certificateChain: /certs/chain.pem
    ///             privateKey: /certs/key.pem
    /// ---
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: demo
    ///   labels:
    ///     app: web
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
    ///   name: demo
    ///   labels:
    ///     appmesh.k8s.aws/sidecarInjectorWebhook: enabled
    /// ---
    /// apiVersion: appmesh.k8s.aws/v1beta2
    /// kind: VirtualNode
    /// metadata:
    ///   name: web
    ///   namespace: demo
    /// spec:
    ///   podSelector:
    ///     matchLabels:
    ///       app: web
    ///   listeners:
    ///     - portMapping:
    ///         port: 8080
    ///         protocol: http
    ///       tls:
    ///         mode: PERMISSIVE
    ///         certificate:
    ///           file:
    ///             certificateChain: /certs/chain.pem
    ///             privateKey: /certs/key.pem
    /// ---
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: demo
    ///   labels:
    ///     app: web
    /// spec:
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    ///       livenessProbe:
    ///         tcpSocket:
    ///           port: 8081
    /// ```
    ///
    /// ## Fix safety
    /// There is no fix by machine: whether the application speaks HTTP there is not known.
    ///
    /// ## References
    /// - App Mesh controller, `pkg/inject/proxy.go`
    "appmesh-tcp-probe-always-true", Error, fix: None, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    scene
        .handlers()
        .filter_map(|(pod, handler)| report(pod, handler))
        .collect()
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Option<Finding> {
    if pod.mesh.value != Some(Mesh::AppMesh) || handler.verdict.cause != Cause::SidecarAccepts {
        return None;
    }
    let message = format!(
        "{} can never fail: the proxy of App Mesh accepts every connection",
        handler.title()
    );
    let span = handler.handler.kind_span();
    let mut finding = scene::about_handler(&RULE, pod, handler, span, message);
    finding.help = Some("make the check an `httpGet` or an `exec`, or list the other ports alone in `appmesh.k8s.aws/ports`".to_owned());
    Some(finding)
}
