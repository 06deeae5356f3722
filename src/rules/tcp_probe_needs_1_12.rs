//! Rule `tcp-probe-needs-1-12`.

use super::rule::declare_rule;
use super::{Scene, release_gap};
use crate::finding::Finding;
use crate::kube::{Action, ContainerList};

declare_rule! {
    /// Finds tcpSocket probes that the release of Istio is too old to rewrite.
    ///
    /// ## What it checks
    /// A `tcpSocket` probe of a container on a captured port, in a pod with a sidecar that Istio before 1.12
    /// injects, or 1.12 to 1.18 with `REWRITE_TCP_PROBES` switched off in istiod.
    ///
    /// ## Why it matters
    /// The sidecar accepts every connection to a captured port before it looks for the application. A
    /// `tcpSocket` probe asks for no more than that, so it passes for ever: a dead application stays ready
    /// and is never restarted. After an upgrade the agent makes the check, and a probe on a wrong port starts
    /// to fail.
    ///
    /// ## Example
    /// ```yaml
    /// # meshprobe check --mesh-version 1.11
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
    /// ## Use instead
    /// ```yaml
    /// # meshprobe check --mesh-version 1.11
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
    ///         httpGet:
    ///           path: /healthz
    ///           port: 8080
    /// ```
    ///
    /// ## Fix safety
    /// There is no fix by machine: what else tells that the application is alive is for you to say.
    ///
    /// ## References
    /// - Istio documentation: "Upgrade Notes"
    /// - Istio documentation: "Health Checking of Istio Services"
    "tcp-probe-needs-1-12", Error, fix: None, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    release_gap::report(&RULE, scene, |handler| {
        let is_tcp = matches!(handler.handler.action, Ok(Action::TcpSocket { .. }));
        (is_tcp && handler.container.list == ContainerList::Main).then_some("tcpSocket probes")
    })
}
