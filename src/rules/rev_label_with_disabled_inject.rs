//! Rule `rev-label-with-disabled-inject`.

use super::Scene;
use super::pod_key::{self, Place};
use super::rule::declare_rule;
use crate::context::proxy_container;
use crate::finding::Finding;
use crate::mesh::istio::keys;
use crate::predict::WorkloadPrediction;
use crate::source::placeholder;
use crate::yaml::Route;

declare_rule! {
    /// Finds pods whose revision is ignored.
    ///
    /// ## What it checks
    /// A pod with the label `istio.io/rev` that says `sidecar.istio.io/inject: "false"` as well, or
    /// whose Namespace has `istio-injection`, or another revision. Pods of Istio itself and pods that
    /// were injected already are left alone: there the label only tells where they belong.
    ///
    /// ## Why it matters
    /// The Namespace decides before the pod does, and a pod that opts out is injected by nobody. The
    /// label has no effect.
    ///
    /// ## Example
    /// ```yaml
    /// apiVersion: v1
    /// kind: Namespace
    /// metadata:
    ///   name: shop
    ///   labels:
    ///     istio.io/rev: stable
    /// ---
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: shop
    ///   labels:
    ///     istio.io/rev: canary
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
    ///     istio.io/rev: canary
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
    /// There is no fix by machine: which of the two is meant is not known.
    ///
    /// ## References
    /// - Istio documentation: "Installing the Sidecar"
    /// - Istio reference: "Resource Labels"
    "rev-label-with-disabled-inject", Note, fix: None, scope: Workloads
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    if !scene.may_have_mesh() {
        return Vec::new();
    }
    scene.pods().filter_map(|pod| report(scene, pod)).collect()
}

fn report<'t>(scene: &Scene<'_, 't>, pod: &WorkloadPrediction<'t>) -> Option<Finding> {
    let workload = &pod.workload;
    let template = &workload.template;
    let entry = template.label(keys::REVISION)?;
    let name = entry.value.text()?;
    if is_only_a_mark(pod) || placeholder::contains(name) {
        return None;
    }
    let opt_out = template
        .label(keys::INJECT)
        .filter(|entry| entry.value.text() == Some("false"));
    let namespace = scene.context.namespace_object(&workload.object);
    let (why, place) = if let Some(opt_out) = opt_out {
        let place = workload
            .object
            .label_at(opt_out.value.span(), "injection is switched off here");
        ("the pod opts out of injection".to_owned(), place)
    } else {
        let namespace = namespace?;
        let label = namespace
            .label(keys::NAMESPACE_INJECTION)
            .or_else(|| namespace.label(keys::REVISION))?;
        let decides = label.value.text()?;
        let same = decides == name || (decides == "enabled" && name == "default");
        if same || placeholder::contains(decides) {
            return None;
        }
        let place = namespace.label_at(label.value.span(), "this label decides");
        let why = format!(
            "the label of namespace `{}` decides before it",
            namespace.name()
        );
        (why, place)
    };
    let message = format!("revision `{name}` is ignored: {why}");
    let mut finding = pod_key::about(&RULE, workload, Place::Label, entry, message);
    finding.related.push(place);
    finding.help = Some("remove the label, or what it is ignored for".to_owned());
    Some(finding)
}

/// The injector writes the label into pods, and Istio's charts into their own.
fn is_only_a_mark(pod: &WorkloadPrediction<'_>) -> bool {
    let workload = &pod.workload;
    let own = [
        "operator.istio.io/component",
        "install.operator.istio.io/owning-resource",
    ];
    workload.template.annotation(keys::STATUS).is_some()
        || proxy_container(workload).is_some()
        || (workload.template.within != Route::root()
            && workload.object.label(keys::REVISION).is_some())
        || own.iter().any(|key| workload.template.label(key).is_some())
}
