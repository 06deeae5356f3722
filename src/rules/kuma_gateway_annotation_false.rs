//! Rule `kuma-gateway-annotation-false`.

use super::rule::declare_rule;
use super::{Scene, scene};
use crate::finding::Finding;
use crate::mesh::Mesh;
use crate::mesh::kuma::{GATEWAY, PROXY_PORT};
use crate::predict::{Cause, HandlerPrediction, Trouble, WorkloadPrediction};

declare_rule! {
    /// Finds probes that Kuma points at a probe proxy which is switched off.
    ///
    /// ## What it checks
    /// A pod with the annotation `kuma.io/gateway` and a value that says no; and a probe on port 9001
    /// of a pod whose probe proxy is off.
    ///
    /// ## Why it matters
    /// The webhook rewrites the probes since the pod is no gateway, and starts the sidecar without a
    /// probe proxy since the annotation is there. Every probe meets a closed port.
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
    ///   annotations:
    ///     kuma.io/gateway: disabled
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
    /// There is no fix by machine here: delete the annotation.
    ///
    /// ## References
    /// - Kuma 3 (development), `SetApplicationProbeProxyPortAnnotation`, `GetApplicationProbeProxyPort`
    "kuma-gateway-annotation-false", Error, fix: None, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    scene
        .handlers()
        .filter_map(|(pod, handler)| report(pod, handler))
        .collect()
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Option<Finding> {
    if pod.mesh.value != Some(Mesh::Kuma)
        || handler.verdict.cause != Cause::Other(Trouble::AgentOff)
    {
        return None;
    }
    let message = format!(
        "{} meets a closed port: the probe proxy of Kuma is off",
        handler.title()
    );
    let span = handler.handler.kind_span();
    let mut finding = scene::about_handler(&RULE, pod, handler, span, message);
    let says_gateway = pod.workload.template.annotation(GATEWAY).is_some();
    finding.help = Some(if says_gateway {
        "delete `kuma.io/gateway`; without it the pod is no gateway either".to_owned()
    } else {
        format!("ask the port of the application, or give `{PROXY_PORT}` a port")
    });
    Some(finding)
}
