//! Rule `kuma-reserved-port`.

use super::rule::declare_rule;
use super::{Scene, proxy_ports, scene};
use crate::finding::Finding;
use crate::mesh::Mesh;
use crate::mesh::kuma::probe_port;
use crate::predict::{Cause, HandlerPrediction, Trouble, WorkloadPrediction};

declare_rule! {
    /// Finds probes and containers on the port that Kuma keeps for its probe proxy.
    ///
    /// ## What it checks
    /// A probe of a pod that Kuma injects, on the port of the application probe proxy: 9001, or what
    /// `kuma.io/application-probe-proxy-port` says; and a container that declares that port. It is
    /// where a probe points which was rewritten ahead of deployment.
    ///
    /// ## Why it matters
    /// The webhook does not overwrite such a probe, it refuses the pod: "Port for probe cannot be set
    /// to 9001". Nothing starts. An application on that port and the sidecar share it, and one of the
    /// two does not come up.
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
    ///           port: 9001
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
    /// There is no fix by machine: the port of the application is not known.
    ///
    /// ## References
    /// - Kuma 3 (development), `pkg/plugins/runtime/k8s/probes`
    "kuma-reserved-port", Error, fix: None, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let probes = scene
        .handlers()
        .filter_map(|(pod, handler)| report(pod, handler));
    let release = scene.context.other_release(Some(Mesh::Kuma));
    let declared = proxy_ports::declared(scene, &RULE, Mesh::Kuma, |pod, port| {
        let own = probe_port(&pod.workload, release);
        (own == Some(port)).then_some("the probe proxy")
    });
    probes.chain(declared).collect()
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Option<Finding> {
    if pod.mesh.value != Some(Mesh::Kuma)
        || handler.verdict.cause != Cause::Other(Trouble::PodRefused)
    {
        return None;
    }
    let message = format!(
        "Kuma refuses the pod: {} asks port {}, which is the probe proxy's",
        handler.title(),
        handler.port.unwrap_or_default()
    );
    let span = handler.handler.field_span("port");
    let mut finding = scene::about_handler(&RULE, pod, handler, span, message);
    finding.help =
        Some("write the port of the application; Kuma rewrites the probe at admission".to_owned());
    Some(finding)
}
