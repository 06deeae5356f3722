//! Rule `mesh-value-refused`.

use super::rule::declare_rule;
use super::{Scene, scene};
use crate::finding::{Finding, Label};
use crate::kube::{Object, Workload};
use crate::mesh::{Mesh, consul, kuma};
use crate::predict::WorkloadPrediction;
use crate::source::placeholder;
use crate::yaml::{Entry, NodeRef};

declare_rule! {
    /// Finds values of labels and annotations for which the webhook of a mesh refuses pods.
    ///
    /// ## What it checks
    /// Of Kuma: the label `kuma.io/sidecar-injection` of a pod or a Namespace with a value that is none
    /// of `enabled`, `true`, `yes`, `disabled`, `false` and `no`; the annotation `kuma.io/application-
    /// probe-proxy-port` with anything but a port, or with a port at a gateway. Of Consul: its switches
    /// of injection, of the transparent proxy and of the rewrite, with anything that Go does not read
    /// as a boolean. OSM has a rule of its own.
    ///
    /// ## Why it matters
    /// The webhook cannot read the value, or not act on it, and refuses the pod. A Deployment stays
    /// where it is, with an event of its ReplicaSet as the only sign.
    ///
    /// ## Example
    /// ```yaml
    /// apiVersion: v1
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: demo
    ///   annotations:
    ///     consul.hashicorp.com/connect-inject: "yes"
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
    /// kind: Pod
    /// metadata:
    ///   name: web
    ///   namespace: demo
    ///   annotations:
    ///     consul.hashicorp.com/connect-inject: "true"
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
    /// There is no fix by machine: which of the values is meant is for the owner to say.
    ///
    /// ## References
    /// - Kuma 3 (development), `pkg/plugins/runtime/k8s/metadata`, `pkg/plugins/runtime/k8s/probes`
    /// - consul-k8s, `control-plane/connect-inject/webhook/mesh_webhook.go`
    "mesh-value-refused", Error, fix: None, scope: Tree
}

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    let of_namespaces = scene.namespaces().filter_map(of_namespace);
    let mut found: Vec<Finding> = of_namespaces.collect();
    let pods = scene.pods().filter(|pod| {
        matches!(pod.mesh.value, Some(Mesh::Kuma | Mesh::Consul))
            && scene.context.is_refused(&pod.workload)
    });
    for pod in pods {
        let finding = of_pod(scene, pod);
        // A Namespace is told of once, whatever number of pods it holds.
        let is_new = |one: &Finding| found.iter().all(|other| other.primary != one.primary);
        found.extend(finding.filter(is_new));
    }
    found
}

/// A Namespace whose label is unreadable refuses all pods that do not say otherwise.
fn of_namespace(namespace: &Object<'_>) -> Option<Finding> {
    let entry = namespace.label(kuma::INJECTION)?;
    let text = entry.value.text().unwrap_or_default();
    let is_fine = kuma::is_switch(text) || placeholder::contains(text);
    (!is_fine).then(|| {
        let why = format!("the webhook refuses the pod: `{text}` is no switch of Kuma");
        about_namespace(namespace, &entry, &why)
    })
}

fn of_pod(scene: &Scene<'_, '_>, pod: &WorkloadPrediction<'_>) -> Option<Finding> {
    let workload = &pod.workload;
    let mut reasons = pod.dataplane.because.iter();
    let place = reasons.find_map(|reason| reason.place.as_ref())?;
    let namespace = scene.context.namespace_object(&workload.object);
    let in_namespace = namespace.and_then(|namespace| {
        let labels = namespace.metadata()?.get("labels");
        Some((namespace, at(place, namespace, labels)?))
    });
    if let Some((namespace, entry)) = in_namespace {
        if scene.is_target(namespace) {
            return Some(about_namespace(namespace, &entry, &place.message));
        }
        let span = workload.object.name_span();
        let mut finding = about_pod(workload, &entry, span, &place.message);
        finding.related.push(place.clone());
        return Some(finding);
    }
    let template = &workload.template;
    let entry = [template.annotations(), template.labels()]
        .into_iter()
        .find_map(|keys| at(place, &workload.object, keys))?;
    // Several services have a rule of their own.
    let is_own = entry.key.text() != Some(consul::SERVICE);
    is_own.then(|| about_pod(workload, &entry, entry.value.span(), &place.message))
}

/// Returns the entry whose value is at a place.
fn at<'t>(place: &Label, object: &Object<'t>, keys: Option<NodeRef<'t>>) -> Option<Entry<'t>> {
    let mut entries = keys?.entries();
    entries.find(|entry| object.label_at(entry.value.span(), "").is_at(place))
}

fn about_pod(
    workload: &Workload<'_>,
    entry: &Entry<'_>,
    span: crate::yaml::Span,
    why: &str,
) -> Finding {
    let message = format!("{} never starts, {why}", workload.title());
    let mut finding = scene::about_workload(&RULE, workload, span, message);
    finding.help = Some(cure(entry));
    finding
}

fn about_namespace(namespace: &Object<'_>, entry: &Entry<'_>, why: &str) -> Finding {
    let message = format!(
        "pods of Namespace `{}` never start, {why}",
        namespace.name()
    );
    let mut finding = scene::about_object(&RULE, namespace, entry.value.span(), message);
    finding.help = Some(cure(entry));
    finding
}

fn cure(entry: &Entry<'_>) -> String {
    let text = entry.value.text().unwrap_or_default();
    match entry.key.text() {
        Some(kuma::INJECTION) => "write `enabled` or `disabled`".to_owned(),
        Some(kuma::PROXY_PORT) if text.parse::<u16>().is_ok() => {
            "delete it: a gateway has no probe proxy".to_owned()
        }
        Some(kuma::PROXY_PORT) => "write a port number, or \"0\" for no probe proxy".to_owned(),
        _ => "write \"true\" or \"false\"".to_owned(),
    }
}
