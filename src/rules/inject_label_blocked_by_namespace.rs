//! Rule `inject-label-blocked-by-namespace`.

use super::Scene;
use super::inject_annotation_never_seen::never_injected;
use super::pod_key::{self, Place};
use super::rule::declare_rule;
use crate::context::Dataplane;
use crate::finding::Finding;
use crate::mesh::istio::keys;
use crate::predict::WorkloadPrediction;

declare_rule! {
    /// Finds pods whose request for a sidecar is blocked by their namespace.
    ///
    /// ## What it checks
    /// A pod with the label `sidecar.istio.io/inject: "true"` in a Namespace whose label `istio-
    /// injection` is anything else than `enabled`.
    ///
    /// ## Why it matters
    /// The webhook for single pods looks only at namespaces without that label. The pod runs without
    /// a sidecar.
    ///
    /// ## Example
    /// ```yaml
    /// apiVersion: v1
    /// kind: Namespace
    /// metadata:
    ///   name: shop
    ///   labels:
    ///     istio-injection: disabled
    /// ---
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: shop
    ///   labels:
    ///     sidecar.istio.io/inject: "true"
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
    ///   name: shop
    /// ---
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: shop
    ///   labels:
    ///     sidecar.istio.io/inject: "true"
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
    /// There is no fix by machine: taking the label off the Namespace concerns all its pods.
    ///
    /// ## References
    /// - Istio documentation: "Installing the Sidecar"
    /// - Istio reference: "Resource Labels"
    "inject-label-blocked-by-namespace", Error, fix: None, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    if !scene.may_have_mesh() {
        return Vec::new();
    }
    scene.pods().filter_map(|pod| report(scene, pod)).collect()
}

fn report<'t>(scene: &Scene<'_, 't>, pod: &WorkloadPrediction<'t>) -> Option<Finding> {
    let workload = &pod.workload;
    let entry = workload.template.label(keys::INJECT)?;
    let namespace = scene.context.namespace_object(&workload.object)?;
    let label = namespace.label(keys::NAMESPACE_INJECTION)?;
    let value = label.value.text()?;
    let outside = matches!(pod.dataplane.value, Dataplane::None | Dataplane::Ambient);
    let asks = entry.value.text() == Some("true");
    if !asks || value == "enabled" || !outside || pod.is_asked || never_injected(pod) {
        return None;
    }
    let message = format!(
        "{} gets no sidecar: namespace `{}` is labelled `{}={value}`, which no label of a pod \
         overrules",
        workload.title(),
        namespace.name(),
        keys::NAMESPACE_INJECTION,
    );
    let mut finding = pod_key::about(&RULE, workload, Place::Label, entry, message);
    let said = "this label blocks the injection of single pods";
    let place = namespace.label_at(label.value.span(), said);
    finding.related.push(place);
    finding.help =
        Some("remove that label: a Namespace without it injects only pods that ask".to_owned());
    Some(finding)
}
