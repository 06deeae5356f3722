//! Rule `linkerd-grpc-probe-denied`.

use super::rule::declare_rule;
use super::{Scene, scene};
use crate::finding::Finding;
use crate::mesh::Mesh;
use crate::predict::{Cause, HandlerPrediction, Trouble, WorkloadPrediction};

declare_rule! {
    /// Finds gRPC probes at ports where Linkerd lets in the mesh alone.
    ///
    /// ## What it checks
    /// A `grpc` probe at a port whose `Server`, or whose default policy, turns away clients without a
    /// certificate of the mesh.
    ///
    /// ## Why it matters
    /// Linkerd makes routes for `httpGet` probes and for no others. The kubelet has no certificate, so
    /// the probe is refused.
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
    ///         grpc:
    ///           port: 9090
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
    /// There is no fix by machine: whether the application speaks HTTP somewhere is not known.
    ///
    /// ## References
    /// - linkerd2, `policy-controller/k8s/index/src/inbound/workload.rs`
    /// - Linkerd documentation: "Authorization Policy"
    "linkerd-grpc-probe-denied", Error, fix: None, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    scene
        .handlers()
        .filter_map(|(pod, handler)| report(pod, handler))
        .collect()
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Option<Finding> {
    if pod.mesh.value != Some(Mesh::Linkerd)
        || handler.verdict.cause != Cause::Other(Trouble::GrpcDenied)
    {
        return None;
    }
    let message = format!(
        "{} is refused: the port lets in the mesh alone, and Linkerd makes no routes for gRPC probes",
        handler.title()
    );
    let span = handler.handler.kind_span();
    let mut finding = scene::about_handler(&RULE, pod, handler, span, message);
    finding.help = Some("make the check an `httpGet` or an `exec`, or leave the port out with `config.linkerd.io/skip-inbound-ports`".to_owned());
    Some(finding)
}
