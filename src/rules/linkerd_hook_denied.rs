//! Rule `linkerd-hook-denied`.

use super::rule::declare_rule;
use super::{Scene, scene};
use crate::finding::Finding;
use crate::mesh::Mesh;
use crate::predict::{Cause, HandlerPrediction, Trouble, WorkloadPrediction};

declare_rule! {
    /// Finds hooks at ports where Linkerd lets in the mesh alone.
    ///
    /// ## What it checks
    /// A `postStart` or `preStop` hook with `httpGet` at a port whose `Server`, or whose default policy,
    /// turns away clients without a certificate of the mesh.
    ///
    /// ## Why it matters
    /// Linkerd makes routes for probes, not for hooks: the hook is refused. A failed `postStart` kills the
    /// container, a failed `preStop` is only an event.
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
    ///       lifecycle:
    ///         preStop:
    ///           exec:
    ///             command: [/bin/drain]
    /// ```
    ///
    /// ## Fix safety
    /// There is no fix by machine: what runs in the container is not known.
    ///
    /// ## References
    /// - linkerd2, `policy-controller/k8s/index/src/inbound/workload.rs`
    "linkerd-hook-denied", Warning, fix: None, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    scene
        .handlers()
        .filter_map(|(pod, handler)| report(pod, handler))
        .collect()
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Option<Finding> {
    if pod.mesh.value != Some(Mesh::Linkerd)
        || handler.verdict.cause != Cause::Other(Trouble::HookDenied)
    {
        return None;
    }
    let message = format!(
        "{} is refused: the port lets in the mesh alone, and Linkerd makes no routes for hooks",
        handler.title()
    );
    let span = handler.handler.kind_span();
    let mut finding = scene::about_handler(&RULE, pod, handler, span, message);
    finding.help = Some(
        "use `exec`, or leave the port out with `config.linkerd.io/skip-inbound-ports`".to_owned(),
    );
    Some(finding)
}
