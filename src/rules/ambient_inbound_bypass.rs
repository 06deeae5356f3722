//! Rule `ambient-inbound-bypass`.

use super::rule::declare_rule;
use super::{Scene, scene};
use crate::context::Dataplane;
use crate::finding::Finding;
use crate::mesh::Version;
use crate::mesh::istio::keys;
use crate::mesh::istio::mtls::MtlsMode;
use crate::predict::WorkloadPrediction;

declare_rule! {
    /// Finds ambient pods under STRICT that let inbound traffic bypass ztunnel.
    ///
    /// ## What it checks
    /// The annotation `ambient.istio.io/bypass-inbound-capture: "true"` (1.23 and later) on pods in
    /// ambient mode for which a PeerAuthentication demands STRICT.
    ///
    /// ## Why it matters
    /// Nothing that comes in is captured, so nothing checks it: STRICT is written, and plain text
    /// is accepted. The probes of the pod do not need it: they bypass ztunnel in any case.
    ///
    /// ## Example
    /// ```yaml
    /// apiVersion: v1
    /// kind: Namespace
    /// metadata:
    ///   name: shop
    ///   labels:
    ///     istio.io/dataplane-mode: ambient
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
    ///   annotations:
    ///     ambient.istio.io/bypass-inbound-capture: "true"
    /// spec:
    ///   containers:
    ///     - name: web
    ///       image: registry.example/web:1
    /// ```
    ///
    /// ## Use instead
    /// ```yaml
    /// apiVersion: v1
    /// kind: Namespace
    /// metadata:
    ///   name: shop
    ///   labels:
    ///     istio.io/dataplane-mode: ambient
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
    /// There is no fix by machine: the pod may need the bypass.
    ///
    /// ## References
    /// - Istio reference: "Resource Annotations"
    "ambient-inbound-bypass", Note, fix: None, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let ambient = scene
        .pods()
        .filter(|pod| pod.dataplane.value == Dataplane::Ambient);
    ambient.filter_map(|pod| report(scene, pod)).collect()
}

fn report<'t>(scene: &Scene<'_, 't>, pod: &WorkloadPrediction<'t>) -> Option<Finding> {
    let template = &pod.workload.template;
    let entry = template.annotation(keys::BYPASS_INBOUND)?;
    let is_known = pod
        .release
        .value
        .is_none_or(|release| release >= Version::new(1, 23));
    if entry.value.text() != Some("true") || !is_known {
        return None;
    }
    let mode = scene.context.mtls_of_other_ports(&pod.workload);
    if mode.value != MtlsMode::Strict {
        return None;
    }
    let message = format!(
        "STRICT is not enforced for {}: this annotation lets all inbound traffic bypass ztunnel",
        pod.workload.title(),
    );
    let mut finding = scene::about_workload(&RULE, &pod.workload, entry.key.span(), message);
    let route = template.within.child("metadata").child("annotations");
    finding.field = Some(route.child(keys::BYPASS_INBOUND).to_string());
    scene::rest_on_fact(&mut finding, &mode);
    scene::rest_on_fact(&mut finding, &pod.dataplane);
    let help = "remove it, unless the pod has to be reached past the mesh; probes do not need it";
    finding.help = Some(help.to_owned());
    Some(finding)
}
