//! Rule `status-port-mesh-mismatch`.

use super::rule::declare_rule;
use super::status_port_in_include_list::{captured, in_danger, is_listed};
use super::{Scene, scene};
use crate::finding::{Finding, Severity};
use crate::mesh::istio::keys;
use crate::predict::WorkloadPrediction;

declare_rule! {
    /// Finds meshes whose redirect takes the agent's port.
    ///
    /// ## What it checks
    /// A pod whose probes go to the agent, in a mesh whose `meshConfig.defaultConfig.statusPort` and
    /// `global.proxy.statusPort` differ; or a pod rewritten ahead whose `proxy.istio.io/config` moves
    /// the agent. It is an error where STRICT mutual TLS holds on the agent's port, and a note where
    /// plain text is still let in.
    ///
    /// ## Why it matters
    /// The first setting says where the probes are pointed at and where the agent listens, the second
    /// which port the redirect leaves alone. Where they differ the sidecar takes the kubelet's
    /// connection, and under STRICT it resets every one.
    ///
    /// ## Example
    /// ```yaml
    /// apiVersion: install.istio.io/v1alpha1
    /// kind: IstioOperator
    /// metadata:
    ///   name: istio
    ///   namespace: istio-system
    /// spec:
    ///   meshConfig:
    ///     defaultConfig:
    ///       statusPort: 15555
    /// ---
    /// apiVersion: v1
    /// kind: Namespace
    /// metadata:
    ///   name: shop
    ///   labels:
    ///     istio-injection: enabled
    /// ---
    /// apiVersion: security.istio.io/v1
    /// kind: PeerAuthentication
    /// metadata:
    ///   name: default
    ///   namespace: shop
    /// spec:
    ///   mtls:
    ///     mode: STRICT
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
    /// ## Use instead
    /// ```yaml
    /// apiVersion: install.istio.io/v1alpha1
    /// kind: IstioOperator
    /// metadata:
    ///   name: istio
    ///   namespace: istio-system
    /// spec:
    ///   meshConfig:
    ///     defaultConfig:
    ///       statusPort: 15555
    ///   values:
    ///     global:
    ///       proxy:
    ///         statusPort: 15555
    /// ---
    /// apiVersion: v1
    /// kind: Namespace
    /// metadata:
    ///   name: shop
    ///   labels:
    ///     istio-injection: enabled
    /// ---
    /// apiVersion: security.istio.io/v1
    /// kind: PeerAuthentication
    /// metadata:
    ///   name: default
    ///   namespace: shop
    /// spec:
    ///   mtls:
    ///     mode: STRICT
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
    /// There is no fix by machine: the installation has to be changed.
    ///
    /// ## References
    /// - Istio reference: "Global Mesh Options"
    "status-port-mesh-mismatch", Error, fix: None, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    scene.pods().flat_map(|pod| report(scene, pod)).collect()
}

fn report<'t>(scene: &Scene<'_, 't>, pod: &WorkloadPrediction<'t>) -> Vec<Finding> {
    // A list of ports that names it is another fault.
    let captured = captured(pod).filter(|(_, port)| !is_listed(scene, pod, *port));
    let failing = captured.map(|(handler, port)| {
        let message = format!(
            "{} will fail: the sidecar takes the agent's port {port}, where STRICT refuses plain \
             text; the redirect leaves port {} alone instead",
            handler.title(),
            scene.context.excluded_port(&pod.workload).value,
        );
        let span = handler.handler.key.span();
        let mut finding = scene::about_handler(&RULE, pod, handler, span, message);
        finding.help = Some(help(scene, pod, port));
        finding
    });
    let mut findings: Vec<Finding> = failing.collect();
    if findings.is_empty() {
        findings.extend(danger(scene, pod));
    }
    findings
}

/// Plain text is still let in.
fn danger<'t>(scene: &Scene<'_, 't>, pod: &WorkloadPrediction<'t>) -> Option<Finding> {
    let port = pod.status_port.value;
    let handler = in_danger(pod).filter(|_| !is_listed(scene, pod, port))?;
    let excluded = scene.context.excluded_port(&pod.workload);
    let message = format!(
        "the sidecar takes the agent's port {port}: all rewritten probes of the pod fail as soon \
         as mutual TLS is STRICT, since the redirect leaves port {} alone instead",
        excluded.value,
    );
    let span = handler.handler.key.span();
    let mut finding = scene::about_workload(&RULE, &pod.workload, span, message);
    finding.severity = Severity::Note;
    scene::rest_on_fact(&mut finding, &pod.status_port);
    scene::rest_on_fact(&mut finding, &excluded);
    scene::rest_on_fact(&mut finding, &pod.dataplane);
    finding.help = Some(help(scene, pod, port));
    Some(finding)
}

fn help<'t>(scene: &Scene<'_, 't>, pod: &WorkloadPrediction<'t>, port: i64) -> String {
    if port == scene.context.mesh_status_port(&pod.workload).value {
        return format!(
            "set `meshConfig.defaultConfig.statusPort` and `global.proxy.statusPort` both to {port}"
        );
    }
    let key = keys::STATUS_PORT;
    format!("move the agent with `{key}`, which the redirect honours too")
}
