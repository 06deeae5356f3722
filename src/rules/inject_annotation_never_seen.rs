//! Rule `inject-annotation-never-seen`.

use super::pod_key::{self, Place};
use super::rule::declare_rule;
use super::{Scene, scene};
use crate::context::Dataplane;
use crate::finding::{Applicability, Finding, Fix};
use crate::mesh::istio::keys;
use crate::predict::WorkloadPrediction;
use crate::yaml::{Change, Entry, Value};

declare_rule! {
    /// Finds pods that ask for injection where nobody looks.
    ///
    /// ## What it checks
    /// A pod with the annotation `sidecar.istio.io/inject: "true"`, without the label of that name,
    /// in a Namespace of the tree whose labels do not bring the pod to the injector.
    ///
    /// ## Why it matters
    /// The webhooks of Istio select by labels. The annotation is read only once the injector was
    /// asked, which never happens here: the pod runs without a sidecar.
    ///
    /// ## Example
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
    ///   annotations:
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
    /// Turning the annotation into the label is unsafe: the pod is injected from then on.
    ///
    /// ## References
    /// - Istio documentation: "Installing the Sidecar"
    /// - Istio reference: "Resource Annotations"
    "inject-annotation-never-seen", Error, fix: Sometimes, scope: Workloads
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
    let entry = template.annotation(keys::INJECT)?;
    let asks = entry.value.text() == Some("true") && template.label(keys::INJECT).is_none();
    let outside = matches!(pod.dataplane.value, Dataplane::None | Dataplane::Ambient);
    if !asks || !outside || pod.is_asked || never_injected(pod) {
        return None;
    }
    let namespace = scene.context.namespace_object(&workload.object)?;
    let message = format!(
        "{} gets no sidecar: this annotation is read only where labels bring the pod to the injector, \
         and no label of the pod or of namespace `{}` does",
        workload.title(),
        namespace.name(),
    );
    let mut finding = pod_key::about(&RULE, workload, Place::Annotation, entry, message);
    scene::rest_on_fact(&mut finding, &pod.dataplane);
    let blocked = [keys::NAMESPACE_INJECTION, keys::REVISION];
    let blocked = blocked.iter().find(|key| namespace.label(key).is_some());
    finding.help = Some(match blocked {
        Some(label) => format!("change the label `{label}` of the Namespace"),
        None => "make it a label of the pod, or label the Namespace".to_owned(),
    });
    finding.fix = blocked.is_none().then(|| fix(pod, entry));
    Some(finding)
}

/// No label of the world brings a sidecar into such pods.
pub(super) fn never_injected(pod: &WorkloadPrediction<'_>) -> bool {
    let namespace = pod.namespace.as_deref().unwrap_or_default();
    pod.workload.template.host_network().is_some() || keys::SYSTEM_NAMESPACES.contains(&namespace)
}

fn fix(pod: &WorkloadPrediction<'_>, entry: Entry<'_>) -> Fix {
    let template = &pod.workload.template;
    let mut changes = pod_key::removal(template, Place::Annotation, &[keys::INJECT]);
    changes.push(Change::Set {
        route: pod_key::route(template, Place::Label, keys::INJECT),
        value: Value::from("true"),
    });
    let degree = pod_key::degree(pod, &[entry], Applicability::Unsafe);
    scene::fix(
        &pod.workload.object,
        "make it a label of the pod",
        degree,
        changes,
    )
}
