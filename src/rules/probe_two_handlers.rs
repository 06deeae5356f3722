//! Rule `probe-two-handlers`.

use super::rule::declare_rule;
use super::{Scene, scene};
use crate::finding::Finding;
use crate::kube::Objection;
use crate::predict::{HandlerPrediction, WorkloadPrediction};

declare_rule! {
    /// Finds probes and hooks with more than one handler.
    ///
    /// ## What it checks
    /// A probe or hook with more than one of `httpGet`, `tcpSocket`, `grpc`, `exec` and `sleep`.
    ///
    /// ## Why it matters
    /// The API server refuses the whole object. It mostly comes from a patch that adds a handler
    /// and leaves the old one. The rewrite does not help: it replaces one of them and leaves the
    /// others.
    ///
    /// ## Example
    /// ```yaml
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
    /// There is no fix by machine: nobody knows which one was meant.
    ///
    /// ## References
    /// - Kubernetes API reference: Probe, LifecycleHandler
    "probe-two-handlers", Error, fix: None, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    scene
        .handlers()
        .filter_map(|(pod, handler)| report(pod, handler))
        .collect()
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Option<Finding> {
    handler
        .refused_by_api()
        .filter(|refusal| refusal.objection == Objection::TwoHandlers)?;
    let written: Vec<_> = handler.handler.kinds().collect();
    let names: Vec<&str> = written.iter().filter_map(|key| key.text()).collect();
    let (first, rest) = written.split_first()?;
    let message = format!(
        "{} is refused by the API server: it has {} handlers ({})",
        handler.title(),
        names.len(),
        names.join(", "),
    );
    let span = rest.last()?.span();
    let mut finding = scene::about_handler(&RULE, pod, handler, span, message);
    let object = &pod.workload.object;
    finding
        .related
        .push(object.label_at(first.span(), "the first one"));
    finding.help = Some(
        "keep one; a patch that adds a handler removes the old one by setting it to null"
            .to_owned(),
    );
    Some(finding)
}
