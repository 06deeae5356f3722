//! Rule `exec-probe-through-sidecar`.

use super::rule::declare_rule;
use super::{Scene, scene};
use crate::context::Dataplane;
use crate::finding::Finding;
use crate::kube::{ExecKind, exec_calls};
use crate::predict::{HandlerPrediction, WorkloadPrediction};

declare_rule! {
    /// Finds exec probes that make their request through the sidecar.
    ///
    /// ## What it checks
    /// An `exec` probe of a pod with a sidecar whose command calls curl, wget or grpc_health_probe
    /// with a host other than loopback. Variables and Unix sockets are left alone.
    ///
    /// ## Why it matters
    /// The request leaves the application's container and goes to the sidecar, which may send it to
    /// another pod behind the same Service. The probe then depends on the mesh and on others as
    /// much as on this application. The rewrite never touches exec probes.
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
    ///       livenessProbe:
    ///         exec:
    ///           command: [curl, -f, "http://web.shop/healthz"]
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
    ///       livenessProbe:
    ///         httpGet:
    ///           path: /healthz
    ///           port: 8080
    /// ```
    ///
    /// ## Fix safety
    /// There is no fix by machine: the port of the application is not known.
    ///
    /// ## References
    /// - Istio documentation: "Health Checking of Istio Services"
    /// - Istio documentation: "Traffic Routing"
    "exec-probe-through-sidecar", Note, fix: None, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    scene
        .handlers()
        .filter_map(|(pod, handler)| report(pod, handler))
        .collect()
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Option<Finding> {
    if pod.dataplane.value != Dataplane::Sidecar || handler.handler.slot.is_lifecycle() {
        return None;
    }
    let calls = exec_calls(&handler.handler);
    let call = calls.iter().find(|call| call.kind == ExecKind::Request)?;
    let message = format!(
        "{} asks {} through the sidecar: it depends on the mesh, not only on the application",
        handler.title(),
        call.host,
    );
    let span = handler.handler.kind_span();
    let mut finding = scene::about_handler(&RULE, pod, handler, span, message);
    finding.outcome = None;
    scene::rest_on_fact(&mut finding, &pod.dataplane);
    finding.help = Some("ask the application itself: by httpGet, or on 127.0.0.1".to_owned());
    Some(finding)
}
