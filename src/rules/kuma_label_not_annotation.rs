//! Rule `kuma-label-not-annotation`.

use super::rule::declare_rule;
use super::{Scene, scene};
use crate::finding::Finding;
use crate::kube::Object;
use crate::mesh::kuma::INJECTION;
use crate::yaml::Entry;

declare_rule! {
    /// Finds switches of Kuma's injection written as annotations.
    ///
    /// ## What it checks
    /// The annotation `kuma.io/sidecar-injection` of a pod or a Namespace. Kuma reads the label of
    /// that name and nothing else.
    ///
    /// ## Why it matters
    /// A pod that was to be left out is injected all the same, or one that was to be injected is not,
    /// and no probe is rewritten.
    ///
    /// ## Example
    /// ```yaml
    /// apiVersion: v1
    /// kind: Namespace
    /// metadata:
    ///   name: demo
    ///   annotations:
    ///     kuma.io/sidecar-injection: enabled
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
    /// ```
    ///
    /// ## Fix safety
    /// There is no fix by machine: whether the switch is still meant is for its owner to say.
    ///
    /// ## References
    /// - Kuma 3 (development), `pkg/plugins/runtime/k8s/webhooks/injector`
    "kuma-label-not-annotation", Error, fix: None, scope: Tree
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let pods = scene.pods().filter_map(|pod| {
        let template = &pod.workload.template;
        let entry = template.annotation(INJECTION)?;
        // Beside the label it is only idle.
        let is_idle = template.label(INJECTION).is_some();
        (!is_idle).then(|| report(&pod.workload.object, &entry))
    });
    let namespaces = scene.namespaces().filter_map(|namespace| {
        let entry = namespace.annotation(INJECTION)?;
        let is_idle = namespace.label(INJECTION).is_some();
        (!is_idle).then(|| report(namespace, &entry))
    });
    pods.chain(namespaces).collect()
}

fn report(object: &Object<'_>, entry: &Entry<'_>) -> Finding {
    let message = format!("Kuma does not read the annotation `{INJECTION}`, only the label");
    let mut finding = scene::about_object(&RULE, object, entry.key.span(), message);
    finding.help = Some("write it under `labels`".to_owned());
    finding
}
