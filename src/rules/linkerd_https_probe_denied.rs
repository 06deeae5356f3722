//! Rule `linkerd-https-probe-denied`.

use super::rule::declare_rule;
use super::{Scene, scene};
use crate::finding::Finding;
use crate::mesh::Mesh;
use crate::predict::{Cause, HandlerPrediction, Trouble, WorkloadPrediction};

declare_rule! {
    /// Finds probes into which the proxy of Linkerd cannot see, at ports that let in the mesh alone.
    ///
    /// ## What it checks
    /// An `httpGet` probe with `scheme: HTTPS`, or at an opaque port, or under a release before 2.12,
    /// at a port whose `Server`, or whose default policy, turns away clients without a certificate of
    /// the mesh.
    ///
    /// ## Why it matters
    /// The exception for a probe is a route, and a route needs HTTP that the proxy can read. What it
    /// cannot read it takes for a plain connection without a certificate, and refuses it.
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
    ///     config.linkerd.io/default-inbound-policy: all-authenticated
    /// spec:
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    ///       readinessProbe:
    ///         httpGet:
    ///           path: /healthz
    ///           port: 8443
    ///           scheme: HTTPS
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
    ///     config.linkerd.io/default-inbound-policy: all-authenticated
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
    /// There is no fix by machine: a port in plain text, or one without the proxy, is a decision of its
    /// owner.
    ///
    /// ## References
    /// - linkerd2, `policy-controller/k8s/index/src/inbound/workload.rs`
    /// - Linkerd documentation: "Authorization Policy"
    "linkerd-https-probe-denied", Error, fix: None, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    scene
        .handlers()
        .filter_map(|(pod, handler)| report(pod, handler))
        .collect()
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Option<Finding> {
    if pod.mesh.value != Some(Mesh::Linkerd)
        || handler.verdict.cause != Cause::Other(Trouble::NoProbeRoute)
    {
        return None;
    }
    let mut why = handler.verdict.because.iter();
    let why = why.find(|reason| reason.place.is_none());
    let why = why.map_or("Linkerd makes no route for it", |reason| &reason.message);
    let message = format!("{} is refused: {why}", handler.title());
    let span = handler.handler.kind_span();
    let mut finding = scene::about_handler(&RULE, pod, handler, span, message);
    finding.help = Some("check a port in plain text, or leave the port out with `config.linkerd.io/skip-inbound-ports`".to_owned());
    Some(finding)
}
