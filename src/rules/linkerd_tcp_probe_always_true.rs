//! Rule `linkerd-tcp-probe-always-true`.

use super::rule::declare_rule;
use super::{Scene, scene};
use crate::finding::Finding;
use crate::mesh::Mesh;
use crate::predict::{Cause, HandlerPrediction, WorkloadPrediction};

declare_rule! {
    /// Finds tcpSocket probes that the proxy of Linkerd answers.
    ///
    /// ## What it checks
    /// A `tcpSocket` probe of a pod that Linkerd injects, at a port that the redirect does not leave
    /// alone.
    ///
    /// ## Why it matters
    /// The proxy accepts the connection before it opens one to the application, so the probe passes
    /// even when the application is dead.
    ///
    /// ## Example
    /// ```yaml
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: demo
    ///   annotations:
    ///     linkerd.io/inject: enabled
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
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: demo
    ///   annotations:
    ///     linkerd.io/inject: enabled
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
    /// There is no fix by machine: whether the application speaks HTTP there is not known.
    ///
    /// ## References
    /// - Linkerd documentation: "Automatic Proxy Injection"
    "linkerd-tcp-probe-always-true", Error, fix: None, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    scene
        .handlers()
        .filter_map(|(pod, handler)| report(pod, handler))
        .collect()
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Option<Finding> {
    if pod.mesh.value != Some(Mesh::Linkerd) || handler.verdict.cause != Cause::SidecarAccepts {
        return None;
    }
    let message = format!(
        "{} can never fail: the proxy of Linkerd accepts every connection",
        handler.title()
    );
    let span = handler.handler.kind_span();
    let mut finding = scene::about_handler(&RULE, pod, handler, span, message);
    finding.help = Some("make the check an `httpGet` or an `exec`, or leave the port out with `config.linkerd.io/skip-inbound-ports`".to_owned());
    Some(finding)
}
