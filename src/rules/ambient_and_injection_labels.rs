//! Rule `ambient-and-injection-labels`.

use super::rule::declare_rule;
use super::{Scene, scene};
use crate::finding::Finding;
use crate::kube::Object;
use crate::mesh::istio::keys;
use crate::predict::WorkloadPrediction;

declare_rule! {
    /// Finds Namespaces that ask for ambient mode and for sidecars.
    ///
    /// ## What it checks
    /// A Namespace with `istio.io/dataplane-mode: ambient` and a label that has pods injected
    /// (`istio-injection: enabled`, or an `istio.io/rev` that a control plane answers to).
    ///
    /// ## Why it matters
    /// The sidecar wins: a pod that the injector has seen is left out of ambient mode. The
    /// namespace runs with sidecars, and what was set up for ambient mode (waypoints, policies,
    /// probes that are not rewritten) does not hold.
    ///
    /// ## Example
    /// ```yaml
    /// apiVersion: v1
    /// kind: Namespace
    /// metadata:
    ///   name: shop
    ///   labels:
    ///     istio-injection: enabled
    ///     istio.io/dataplane-mode: ambient
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
    /// apiVersion: v1
    /// kind: Namespace
    /// metadata:
    ///   name: shop
    ///   labels:
    ///     istio.io/dataplane-mode: ambient
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
    /// There is no fix by machine: only you know which of the two is meant.
    ///
    /// ## References
    /// - Istio documentation: "Sidecar and ambient interoperability"
    "ambient-and-injection-labels", Warning, fix: None, scope: Tree
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let namespaces = scene.context.inventory.namespaces.iter();
    namespaces
        .filter_map(|namespace| report(scene, namespace))
        .collect()
}

fn report<'t>(scene: &Scene<'_, 't>, namespace: &Object<'t>) -> Option<Finding> {
    let mode = namespace.label(keys::DATAPLANE_MODE)?;
    if mode.value.text() != Some("ambient") {
        return None;
    }
    let injection = namespace.label(keys::NAMESPACE_INJECTION);
    let asks = injection
        .filter(|label| label.value.text() == Some("enabled"))
        .or_else(|| {
            namespace
                .label(keys::REVISION)
                .filter(|_| injection.is_none())
        })?;
    let here = |pod: &&&WorkloadPrediction<'t>| {
        let found = scene.context.namespace_object(&pod.workload.object);
        found.is_some_and(|found| std::ptr::eq(found, namespace))
    };
    let named = scene.by_namespace.get(namespace.name());
    let mut pods = named.into_iter().flatten().filter(here).peekable();
    // Without a pod to judge, a revision may be one that nobody answers to.
    let is_injected = match pods.peek() {
        None => injection.is_some(),
        Some(_) => pods.any(|pod| pod.is_asked),
    };
    if !is_injected {
        return None;
    }
    let message = format!(
        "namespace `{}` asks for ambient mode and for sidecars: its pods are injected and leave \
         ambient mode",
        namespace.name(),
    );
    let mut finding = scene::about_object(&RULE, namespace, mode.value.span(), message);
    finding.field = Some(format!("metadata.labels.{}", keys::DATAPLANE_MODE));
    let said = "this label has the pods injected";
    finding
        .related
        .push(namespace.label_at(asks.value.span(), said));
    finding.help = Some("keep the label that is meant, and remove the other".to_owned());
    Some(finding)
}
