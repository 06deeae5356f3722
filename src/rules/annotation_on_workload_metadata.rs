//! Rule `annotation-on-workload-metadata`.

use super::annotation_name_typo::meant;
use super::label_use::keep_selected;
use super::pod_key::Place;
use super::pod_key::has_comment;
use super::rule::declare_rule;
use super::{Scene, disable_rewrite, scene};
use crate::finding::{Applicability, Finding, Fix};
use crate::kube::Workload;
use crate::mesh::istio::keys;
use crate::mesh::istio::rewrite::parse_bool;
use crate::predict::WorkloadPrediction;
use crate::yaml::{Change, Entry, NodeRef, Route, Step, Value};

declare_rule! {
    /// Finds pod settings of Istio that stand where Istio never looks.
    ///
    /// ## What it checks
    /// A sidecar annotation, or the label `sidecar.istio.io/inject`, on the metadata of a Deployment,
    /// StatefulSet or another workload (of a CronJob also on the job template) and not on the pod
    /// template; or such an annotation written as a label of the pod template.
    ///
    /// ## Why it matters
    /// The injector sees Pods only, and a Pod takes its metadata from the pod template. The setting has
    /// no effect, and no tool of the mesh says so.
    ///
    /// ## Example
    /// ```yaml
    /// apiVersion: apps/v1
    /// kind: Deployment
    /// metadata:
    ///   name: web
    ///   namespace: shop
    ///   annotations:
    ///     sidecar.istio.io/proxyCPU: 100m
    /// spec:
    ///   selector:
    ///     matchLabels:
    ///       app: web
    ///   template:
    ///     metadata:
    ///       labels:
    ///         app: web
    ///     spec:
    ///       containers:
    ///         - name: web
    ///           image: registry.example/web:1
    /// ```
    ///
    /// ## Use instead
    /// ```yaml
    /// apiVersion: apps/v1
    /// kind: Deployment
    /// metadata:
    ///   name: web
    ///   namespace: shop
    /// spec:
    ///   selector:
    ///     matchLabels:
    ///       app: web
    ///   template:
    ///     metadata:
    ///       labels:
    ///         app: web
    ///       annotations:
    ///         sidecar.istio.io/proxyCPU: 100m
    ///     spec:
    ///       containers:
    ///         - name: web
    ///           image: registry.example/web:1
    /// ```
    ///
    /// ## Fix safety
    /// Moving the key to the pod template is unsafe: the setting then takes effect, which may change
    /// how probes, traffic or injection behave.
    ///
    /// ## References
    /// - Istio reference: "Resource Annotations"
    "annotation-on-workload-metadata", Error, fix: Always, scope: Workloads
}

/// Annotations with these beginnings are read from Pods alone.
/// Source: Istio 1.31, `annotations.gen.go` (Resources: Pod).
const POD_KEYS: [&str; 6] = [
    "sidecar.istio.io/",
    "traffic.sidecar.istio.io/",
    "status.sidecar.istio.io/",
    "readiness.status.sidecar.istio.io/",
    "inject.istio.io/",
    keys::PROXY_CONFIG,
];

fn check(scene: &Scene<'_, '_>) -> Vec<Finding> {
    scene.pods().flat_map(|pod| misplaced(scene, pod)).collect()
}

fn misplaced<'t>(scene: &Scene<'_, 't>, pod: &WorkloadPrediction<'t>) -> Vec<Finding> {
    let workload = &pod.workload;
    let mut findings = Vec::new();
    if takes_metadata_from_template(workload) {
        for metadata in metadata_routes(workload) {
            let node = workload.object.node.at(&metadata);
            let of = |key: &str| node.and_then(|node| node.get(key));
            let route = || metadata.child("annotations");
            for entry in wanted(of("annotations"), is_pod_key) {
                findings.extend(report(scene, pod, entry, &route()));
            }
            let route = || metadata.child("labels");
            for entry in wanted(of("labels"), |key| key == keys::INJECT) {
                findings.extend(report(scene, pod, entry, &route()));
            }
        }
    }
    let route = || workload.template.within.child("metadata").child("labels");
    for entry in wanted(workload.template.labels(), is_annotation_only) {
        findings.extend(report(scene, pod, entry, &route()));
    }
    findings
}

/// Returns the entries whose key is one of those that are looked for.
fn wanted(node: Option<NodeRef<'_>>, is_wanted: impl Fn(&str) -> bool) -> Vec<Entry<'_>> {
    let entries = node.into_iter().flat_map(NodeRef::effective_entries);
    entries
        .filter(|entry| entry.key.text().is_some_and(&is_wanted))
        .collect()
}

/// Built-in workloads and those that work alike; what other controllers do with their metadata
/// is not known.
fn takes_metadata_from_template(workload: &Workload<'_>) -> bool {
    let object = &workload.object;
    matches!(
        (object.group(), object.kind),
        (
            "apps" | "extensions",
            "Deployment" | "StatefulSet" | "DaemonSet" | "ReplicaSet"
        ) | ("batch", "Job" | "CronJob")
            | ("", "ReplicationController")
            | ("argoproj.io", "Rollout")
            | ("apps.openshift.io", "DeploymentConfig")
    )
}

fn metadata_routes(workload: &Workload<'_>) -> Vec<Route> {
    let mut routes = vec![Route::keys(&["metadata"])];
    if workload.object.kind == "CronJob" {
        routes.push(Route::keys(&["spec", "jobTemplate", "metadata"]));
    }
    routes
}

fn is_pod_key(key: &str) -> bool {
    POD_KEYS.iter().any(|prefix| key.starts_with(prefix))
}

/// A slip in the name of a label is another fault.
fn is_annotation_only(key: &str) -> bool {
    key != keys::INJECT && is_pod_key(key) && meant(Place::Label, key).is_none()
}

fn report<'t>(
    scene: &Scene<'_, 't>,
    pod: &WorkloadPrediction<'t>,
    entry: Entry<'t>,
    route: &Route,
) -> Option<Finding> {
    let key = entry.key.text()?;
    let workload = &pod.workload;
    let template = &workload.template;
    let stands_right = template.annotation(key).is_some()
        || (key == keys::INJECT && template.label(key).is_some());
    if stands_right {
        return None;
    }
    let object = &workload.object;
    let place = if route.steps().last() == Some(&"labels".into()) && key != keys::INJECT {
        "as a label; Istio reads it as an annotation".to_owned()
    } else {
        let holder = match route.steps().first() {
            Some(Step::Key(key)) if key == "spec" => "job template of the ",
            _ => "",
        };
        format!(
            "on the metadata of the {holder}{}; Istio reads the pod template only",
            object.kind
        )
    };
    let message = format!("`{key}` has no effect here: it is set {place}");
    let mut finding = scene::about_workload(&RULE, workload, entry.key.span(), message);
    finding.field = Some(route.child(key.to_owned()).to_string());
    let target = if key == keys::INJECT {
        "labels"
    } else {
        "annotations"
    };
    let right = template.within.child("metadata").child(target);
    finding.help = Some(format!("move it to `{right}`, where it takes effect"));
    finding.fix = Some(move_fix(workload, entry, route, key, target));
    if route.steps().last() == Some(&"labels".into()) {
        keep_selected(scene.context, key, &mut finding);
    }
    if key == keys::REWRITE_PROBERS && entry.value.text().and_then(parse_bool) == Some(false) {
        disable_rewrite::show_where_it_spoils(scene, pod, &mut finding);
    }
    Some(finding)
}

fn move_fix(
    workload: &Workload<'_>,
    entry: Entry<'_>,
    route: &Route,
    key: &str,
    target: &'static str,
) -> Fix {
    let object = &workload.object;
    let value = Value::from(entry.value.text().unwrap_or_default());
    let holder = object.node.at(route);
    let is_last = holder.is_some_and(|node| node.entries().len() == 1 && !node.has_merge_key());
    let from = object.route.join(route);
    let from = if is_last {
        from
    } else {
        from.child(key.to_owned())
    };
    let to = workload
        .template
        .route
        .child("metadata")
        .child(target)
        .child(key.to_owned());
    let applicability = if has_comment(entry) {
        // Moving the entry would lose its comment.
        Applicability::DisplayOnly
    } else {
        Applicability::Unsafe
    };
    let changes = vec![
        Change::Remove { route: from },
        Change::Set { route: to, value },
    ];
    scene::fix(
        object,
        format!("move `{key}` to the pod template"),
        applicability,
        changes,
    )
}
