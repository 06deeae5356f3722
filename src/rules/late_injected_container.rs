//! Rule `late-injected-container`.

use super::rule::declare_rule;
use super::{Scene, scene};
use crate::context::Dataplane;
use crate::finding::Finding;
use crate::mesh::istio::keys;
use crate::mesh::istio::mtls::MtlsMode;
use crate::predict::WorkloadPrediction;

declare_rule! {
    /// Finds pods into which another injector puts a probed container after Istio.
    ///
    /// ## What it checks
    /// A Namespace with the label `opa-istio-injection: enabled`, pods with a sidecar in it, and
    /// STRICT mutual TLS, where the installation does not set `reinvocationPolicy: IfNeeded`. Other
    /// injectors are not looked at: their containers have no probes, or they come before Istio.
    ///
    /// ## Why it matters
    /// Webhooks are called in the order of their names, and the one of the Open Policy Agent comes
    /// after Istio's. The probes of its container (port 8282) are then not rewritten, and STRICT
    /// refuses them.
    ///
    /// ## Example
    /// ```yaml
    /// apiVersion: v1
    /// kind: Namespace
    /// metadata:
    ///   name: shop
    ///   labels:
    ///     istio-injection: enabled
    ///     opa-istio-injection: enabled
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
    ///   values:
    ///     sidecarInjectorWebhook:
    ///       reinvocationPolicy: IfNeeded
    /// ---
    /// apiVersion: v1
    /// kind: Namespace
    /// metadata:
    ///   name: shop
    ///   labels:
    ///     istio-injection: enabled
    ///     opa-istio-injection: enabled
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
    /// ```
    ///
    /// ## Fix safety
    /// There is no fix by machine: `reinvocationPolicy: IfNeeded` belongs into the installation
    /// (Istio 1.27 or later keeps the prober env then), or 8282 into
    /// `traffic.sidecar.istio.io/excludeInboundPorts`.
    ///
    /// ## References
    /// - Istio issue 53786
    /// - Kubernetes documentation: "Dynamic Admission Control"
    "late-injected-container", Warning, fix: None, scope: Tree
}

/// The label of a Namespace into whose pods the Open Policy Agent is injected.
const OPA_INJECTION: &str = "opa-istio-injection";
/// Where the agent is asked for its health (Istio issue 53786).
const OPA_PORT: i64 = 8282;

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let in_mesh = scene
        .pods()
        .filter(|pod| pod.dataplane.value == Dataplane::Sidecar);
    let mut findings: Vec<Finding> = Vec::new();
    for finding in in_mesh.filter_map(|pod| report(scene, pod)) {
        // One for each Namespace.
        if findings
            .iter()
            .all(|known| known.primary != finding.primary)
        {
            findings.push(finding);
        }
    }
    findings
}

fn report<'t>(scene: &Scene<'_, 't>, pod: &WorkloadPrediction<'t>) -> Option<Finding> {
    let workload = &pod.workload;
    let namespace = scene.context.namespace_object(&workload.object)?;
    let entry = namespace.label(OPA_INJECTION)?;
    let enabled = entry.value.text() == Some("enabled") && scene.is_target(namespace);
    let mtls = scene.context.mtls(workload, OPA_PORT);
    let captured = scene.context.capture(workload, OPA_PORT).value;
    if !enabled || !captured || mtls.value != MtlsMode::Strict {
        return None;
    }
    let install = scene.context.install(workload);
    let policy = install.fact("--context PATH", |one| one.reinvocation_policy.as_ref());
    if policy.is_some_and(|policy| policy.value == "IfNeeded") {
        return None;
    }
    let message = format!(
        "the probes of the container that the Open Policy Agent adds to pods of namespace `{}` will \
         fail: it comes after Istio, so port {OPA_PORT} is not rewritten and STRICT refuses them",
        namespace.name(),
    );
    let mut finding = scene::about_object(&RULE, namespace, entry.value.span(), message);
    scene::rest_on_fact(&mut finding, &mtls);
    finding.help = Some(format!(
        "set `sidecarInjectorWebhook.reinvocationPolicy: IfNeeded` (Istio 1.27+), or list {OPA_PORT} in \
         `{}`",
        keys::EXCLUDE_INBOUND_PORTS,
    ));
    Some(finding)
}
