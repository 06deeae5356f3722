//! Rule `appmesh-strict-probe`.

use super::rule::declare_rule;
use super::{Scene, scene};
use crate::finding::Finding;
use crate::mesh::Mesh;
use crate::predict::{Cause, HandlerPrediction, Trouble, WorkloadPrediction};

declare_rule! {
    /// Finds probes at a STRICT listener of App Mesh.
    ///
    /// ## What it checks
    /// An `httpGet` or `grpc` probe or hook at a port that App Mesh redirects (a listener of the pod's
    /// VirtualNode, or a port of the annotation `appmesh.k8s.aws/ports`) and whose listener has
    /// `tls.mode: STRICT`. Of HTTPS only where the listener asks for the client's certificate, too
    /// (`tls.validation`): without that nobody can tell.
    ///
    /// ## Why it matters
    /// App Mesh leaves probes alone, and the kubelet speaks no TLS, or has no certificate of the mesh: the
    /// listener closes the connection.
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
    ///         mode: STRICT
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
    ///         mode: STRICT
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
    ///   annotations:
    ///     appmesh.k8s.aws/ports: "8080"
    /// spec:
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    ///       readinessProbe:
    ///         httpGet:
    ///           path: /healthz
    ///           port: 8081
    /// ```
    ///
    /// ## Fix safety
    /// There is no fix by machine: it takes a port for health checks alone, which the application has to
    /// serve.
    ///
    /// ## References
    /// - App Mesh controller, `docs/guide/troubleshooting.md`
    /// - AWS App Mesh API reference: `ListenerTls`
    "appmesh-strict-probe", Error, fix: None, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    scene
        .handlers()
        .filter_map(|(pod, handler)| report(pod, handler))
        .collect()
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Option<Finding> {
    if pod.mesh.value != Some(Mesh::AppMesh)
        || handler.verdict.cause != Cause::Other(Trouble::PlainAtStrict)
    {
        return None;
    }
    let message = format!(
        "{} fails: App Mesh redirects the port, and its listener accepts TLS of the mesh alone",
        handler.title()
    );
    let span = handler.handler.kind_span();
    let mut finding = scene::about_handler(&RULE, pod, handler, span, message);
    finding.help = Some("serve the check on another port, and list the ports of the application in `appmesh.k8s.aws/ports`".to_owned());
    Some(finding)
}
