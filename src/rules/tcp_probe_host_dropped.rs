//! Rule `tcp-probe-host-dropped`.

use super::rule::declare_rule;
use super::{Scene, disable_rewrite, pod_key, scene};
use crate::finding::{Applicability, Finding};
use crate::predict::{Cause, HandlerPrediction, WorkloadPrediction};
use crate::yaml::{Change, NodeRef};

declare_rule! {
    /// Finds tcpSocket probes of another host, which the rewrite turns on the pod itself.
    ///
    /// ## What it checks
    /// A `tcpSocket` probe or hook with `host` that the injector rewrites.
    ///
    /// ## Why it matters
    /// The rewrite takes over the port and drops the host: the agent dials the pod. With nothing on
    /// that port the probe always fails; with something on it, the other host may be down for days
    /// and the probe passes. A loopback address is one step less severe: the rewrite then tests
    /// what was likely meant.
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
    /// spec:
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    ///       readinessProbe:
    ///         tcpSocket:
    ///           host: db.example
    ///           port: 5432
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
    ///       readinessProbe:
    ///         tcpSocket:
    ///           port: 8080
    /// ```
    ///
    /// ## Fix safety
    /// Removing a loopback `host` is unsafe: outside of a mesh the kubelet would test another
    /// address than before. Switching the rewrite off is unsafe, as it holds for all probes of the
    /// pod, and only shown where it would spoil another one or the pod was rewritten ahead.
    ///
    /// ## References
    /// - Istio documentation: "Health Checking of Istio Services"
    /// - Kubernetes API reference: TCPSocketAction
    "tcp-probe-host-dropped", Error, fix: Always, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let struck = scene
        .handlers()
        .filter(|(_, handler)| handler.verdict.cause == Cause::HostDropped);
    struck
        .map(|(pod, handler)| report(scene, pod, handler))
        .collect()
}

fn report(
    scene: &Scene<'_, '_>,
    pod: &WorkloadPrediction<'_>,
    handler: &HandlerPrediction<'_>,
) -> Finding {
    let action = handler.handler.action.as_ref().ok();
    let host = action.and_then(|action| action.host()).unwrap_or_default();
    let message = format!(
        "{} will not test {host}: the rewrite drops `host`, so the agent tests port {} of the pod",
        handler.title(),
        handler.port_said(),
    );
    let span = handler.handler.field_span("host");
    let mut finding = scene::about_handler(&RULE, pod, handler, span, message);
    if is_loopback(host) {
        finding.severity = finding.severity.lowered();
        finding.help = Some("remove `host`: the pod itself is what is meant".to_owned());
        remove_host(pod, handler, &mut finding);
    } else {
        finding.help = Some(
            "probe the pod itself; readiness that hangs on another host takes all pods down at once"
                .to_owned(),
        );
        disable_rewrite::offer(scene, pod, &mut finding);
    }
    finding
}

fn is_loopback(host: &str) -> bool {
    host == "localhost" || host == "::1" || host.starts_with("127.")
}

fn remove_host(
    pod: &WorkloadPrediction<'_>,
    handler: &HandlerPrediction<'_>,
    finding: &mut Finding,
) {
    let socket: Option<NodeRef<'_>> = handler.handler.node.get("tcpSocket");
    let entry = socket.and_then(|socket| socket.entry("host"));
    let applicability = if entry.is_some_and(pod_key::has_comment) {
        Applicability::DisplayOnly
    } else {
        Applicability::Unsafe
    };
    let route = handler.handler.route.child("tcpSocket").child("host");
    finding.fix = Some(scene::fix(
        &pod.workload.object,
        "remove `host`",
        applicability,
        vec![Change::Remove { route }],
    ));
}
