//! Rule `kuma-host-header-lost`.

use super::rule::declare_rule;
use super::{Scene, scene};
use crate::finding::Finding;
use crate::mesh::Mesh;
use crate::predict::{Cause, HandlerPrediction, Trouble, WorkloadPrediction};

declare_rule! {
    /// Finds probes whose `Host` header gets lost in Kuma.
    ///
    /// ## What it checks
    /// An `httpGet` probe with a header `Host`, spelled like this, in a pod whose probes Kuma passes
    /// through its probe proxy (2.9 and later).
    ///
    /// ## Why it matters
    /// The probe proxy sets the header in a way that its HTTP client ignores: the application is
    /// asked as `<address>:<port>`. One that serves several hosts answers for another, or with an
    /// error.
    ///
    /// ## Example
    /// ```yaml
    /// apiVersion: v1
    /// kind: Namespace
    /// metadata:
    ///   name: demo
    ///   labels:
    ///     kuma.io/sidecar-injection: enabled
    /// ---
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: demo
    /// spec:
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    ///       livenessProbe:
    ///         httpGet:
    ///           path: /healthz
    ///           port: 8080
    ///           httpHeaders:
    ///             - name: Host
    ///               value: app.example
    /// ```
    ///
    /// ## Use instead
    /// ```yaml
    /// apiVersion: v1
    /// kind: Namespace
    /// metadata:
    ///   name: demo
    ///   labels:
    ///     kuma.io/sidecar-injection: enabled
    /// ---
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: demo
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
    /// There is no fix by machine: the application has to answer for any host.
    ///
    /// ## References
    /// - Kuma 3 (development), `app/kuma-dp/pkg/dataplane/probes/http.go`
    "kuma-host-header-lost", Warning, fix: None, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    scene
        .handlers()
        .filter_map(|(pod, handler)| report(pod, handler))
        .collect()
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Option<Finding> {
    if pod.mesh.value != Some(Mesh::Kuma)
        || handler.verdict.cause != Cause::Other(Trouble::HostHeaderLost)
    {
        return None;
    }
    let message = format!(
        "{} loses its `Host` header: the probe proxy of Kuma does not pass it on",
        handler.title()
    );
    let span = handler.handler.field_span("httpHeaders");
    let mut finding = scene::about_handler(&RULE, pod, handler, span, message);
    finding.help = Some("ask a path that answers for every host".to_owned());
    Some(finding)
}
