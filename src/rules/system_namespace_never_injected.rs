//! Rule `system-namespace-never-injected`.

use super::label_use::keep_selected;
use super::pod_key::has_comment;
use super::pod_key::{self, Place};
use super::rule::declare_rule;
use super::{Scene, scene};
use crate::context::Dataplane;
use crate::finding::{Applicability, Finding};
use crate::kube::Object;
use crate::mesh::istio::keys;
use crate::predict::WorkloadPrediction;
use crate::yaml::{Change, Route};

declare_rule! {
    /// Finds requests for sidecars in namespaces that Istio never injects.
    ///
    /// ## What it checks
    /// The Namespaces `kube-system`, `kube-public`, `kube-node-lease` and `local-path-storage` with
    /// `istio-injection: enabled` or `istio.io/rev`, and pods there with the label
    /// `sidecar.istio.io/inject: "true"`.
    ///
    /// ## Why it matters
    /// The injector passes over these namespaces, whatever the labels say.
    ///
    /// ## Example
    /// ```yaml
    /// apiVersion: v1
    /// kind: Namespace
    /// metadata:
    ///   name: kube-system
    ///   labels:
    ///     istio-injection: enabled
    /// ```
    ///
    /// ## Use instead
    /// ```yaml
    /// apiVersion: v1
    /// kind: Namespace
    /// metadata:
    ///   name: kube-system
    /// ```
    ///
    /// ## Fix safety
    /// Removing the label of the Namespace or the pod is safe: it has no effect.
    ///
    /// ## References
    /// - Istio documentation: "Sidecar Injection Problems"
    "system-namespace-never-injected", Note, fix: Always, scope: Tree
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    if !scene.may_have_mesh() {
        return Vec::new();
    }
    let namespaces = scene.namespaces();
    let namespaces = namespaces.filter(|one| keys::SYSTEM_NAMESPACES.contains(&one.name()));
    let mut findings: Vec<Finding> = namespaces
        .filter_map(|one| of_namespace(scene, one))
        .collect();
    findings.extend(scene.pods().filter_map(|pod| of_pod(scene, pod)));
    findings
}

fn of_namespace(scene: &Scene<'_, '_>, namespace: &Object<'_>) -> Option<Finding> {
    let injection = namespace.label(keys::NAMESPACE_INJECTION);
    let enabled = injection.filter(|entry| entry.value.text() == Some("enabled"));
    let entry = enabled.or_else(|| {
        let revision = namespace.label(keys::REVISION);
        revision.filter(|_| injection.is_none())
    })?;
    let key = entry.key.text()?;
    let message = format!(
        "`{key}` has no effect: Istio never injects namespace `{}`",
        namespace.name()
    );
    let mut finding = scene::about_object(&RULE, namespace, entry.value.span(), message);
    let labels = Route::keys(&["metadata", "labels"]);
    finding.field = Some(labels.child(key.to_owned()).to_string());
    finding.help = Some("remove the label, or run what needs a sidecar elsewhere".to_owned());
    let degree = if has_comment(entry) {
        Applicability::DisplayOnly
    } else {
        Applicability::Safe
    };
    let holder = namespace.node.at(&labels)?;
    let route = namespace.route.join(&labels);
    let route = if holder.entries().len() == 1 && !holder.has_merge_key() {
        route
    } else {
        route.child(key.to_owned())
    };
    let changes = vec![Change::Remove { route }];
    finding.fix = Some(scene::fix(
        namespace,
        format!("remove `{key}`"),
        degree,
        changes,
    ));
    keep_selected(scene.context, key, &mut finding);
    Some(finding)
}

fn of_pod(scene: &Scene<'_, '_>, pod: &WorkloadPrediction<'_>) -> Option<Finding> {
    let workload = &pod.workload;
    let namespace = pod.namespace.as_deref()?;
    let entry = workload.template.label(keys::INJECT)?;
    let asks = entry.value.text() == Some("true");
    let brings_own = pod.dataplane.value == Dataplane::Sidecar;
    if !asks || brings_own || !keys::SYSTEM_NAMESPACES.contains(&namespace) {
        return None;
    }
    let message = format!(
        "{} gets no sidecar: Istio never injects namespace `{namespace}`",
        workload.title()
    );
    let mut finding = pod_key::about(&RULE, workload, Place::Label, entry, message);
    finding.help = Some("remove the label, or run the pod in another namespace".to_owned());
    let degree = pod_key::degree(pod, &[entry], Applicability::Safe);
    let changes = pod_key::removal(&workload.template, Place::Label, &[keys::INJECT]);
    let title = format!("remove `{}`", keys::INJECT);
    finding.fix = Some(scene::fix(&workload.object, title, degree, changes));
    keep_selected(scene.context, keys::INJECT, &mut finding);
    Some(finding)
}
