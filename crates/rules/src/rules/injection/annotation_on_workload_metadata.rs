//! Rule `annotation-on-workload-metadata`, documented in `docs/rules/annotation-on-workload-metadata.md`.

use meshprobe_mesh::finding::{Applicability, Finding, Fix};
use meshprobe_mesh::kube::Workload;
use meshprobe_mesh::mesh::istio::rewrite::parse_bool;
use meshprobe_mesh::mesh::istio::{keys, known_names};
use meshprobe_predict::predict::WorkloadPrediction;
use meshprobe_yaml::{Change, Entry, FieldPath, NodeRef, Step, Value};

use crate::rules::RuleContext;
use crate::rules::injection::annotation_name_typo::intended_key;
use crate::rules::rule::declare_rule;
use crate::rules::support::disable_rewrite;
use crate::rules::support::pod_metadata::{MetadataMap, keeping_comment};
use crate::rules::support::selected_labels::keep_selected;

declare_rule! {
    "annotation-on-workload-metadata", Error, fix: Always, scope: Workloads
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.pods().flat_map(|pod| misplaced(cx, pod)).collect()
}

fn misplaced<'t>(cx: &RuleContext<'_, 't>, pod: &WorkloadPrediction<'t>) -> Vec<Finding> {
    let workload = &pod.workload;
    let mut findings = Vec::new();
    if takes_metadata_from_template(workload) {
        for metadata in metadata_routes(workload) {
            let node = workload.object.node.at(&metadata);
            let of = |key: &str| node.and_then(|node| node.get(key));
            let route = || metadata.child("annotations");
            for entry in wanted(of("annotations"), is_pod_key) {
                findings.extend(report(cx, pod, entry, &route()));
            }
            let route = || metadata.child("labels");
            for entry in wanted(of("labels"), |key| key == keys::INJECT) {
                findings.extend(report(cx, pod, entry, &route()));
            }
        }
    }
    let route = || workload.template.within.child("metadata").child("labels");
    for entry in wanted(workload.template.labels(), is_annotation_only) {
        findings.extend(report(cx, pod, entry, &route()));
    }
    findings
}

/// Returns the entries whose key satisfies `is_wanted`.
fn wanted(node: Option<NodeRef<'_>>, is_wanted: impl Fn(&str) -> bool) -> Vec<Entry<'_>> {
    let entries = node.into_iter().flat_map(NodeRef::effective_entries);
    entries
        .filter(|entry| entry.key.text().is_some_and(&is_wanted))
        .collect()
}

/// Returns whether a workload is of a built-in kind or of one that is known to copy the metadata of its pods from
/// the pod template. How other controllers use their metadata is not known.
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

fn metadata_routes(workload: &Workload<'_>) -> Vec<FieldPath> {
    let mut routes = vec![FieldPath::keys(&["metadata"])];
    if workload.object.kind == "CronJob" {
        routes.push(FieldPath::keys(&["spec", "jobTemplate", "metadata"]));
    }
    routes
}

fn is_pod_key(key: &str) -> bool {
    known_names::POD_KEYS
        .iter()
        .any(|prefix| key.starts_with(prefix))
}

/// Returns whether a label key is valid only as an annotation. A typo in the name of a label is excluded: rule
/// `annotation-name-typo` reports it.
fn is_annotation_only(key: &str) -> bool {
    key != keys::INJECT && is_pod_key(key) && intended_key(MetadataMap::Label, key).is_none()
}

fn report<'t>(
    cx: &RuleContext<'_, 't>,
    pod: &WorkloadPrediction<'t>,
    entry: Entry<'t>,
    route: &FieldPath,
) -> Option<Finding> {
    let key = entry.key.text()?;
    let workload = &pod.workload;
    let template = &workload.template;
    let is_set_correctly = template.annotation(key).is_some()
        || (key == keys::INJECT && template.label(key).is_some());
    if is_set_correctly {
        return None;
    }
    let object = &workload.object;
    let reason = if route.steps().last() == Some(&"labels".into()) && key != keys::INJECT {
        "as a label: Istio reads it as an annotation".to_owned()
    } else {
        let holder = match route.steps().first() {
            Some(Step::Key(key)) if key == "spec" => "job template of the ",
            _ => "",
        };
        format!(
            "on the metadata of the {holder}{}: Istio reads only the pod template",
            object.kind
        )
    };
    let message = format!("`{key}` has no effect {reason}");
    let mut finding = RULE.finding_on_workload(workload, entry.key.span(), message);
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
        keep_selected(cx.context, key, &mut finding);
    }
    if key == keys::REWRITE_PROBERS && entry.value.text().and_then(parse_bool) == Some(false) {
        disable_rewrite::demote_if_handlers_break(cx, pod, &mut finding);
    }
    Some(finding)
}

fn move_fix(
    workload: &Workload<'_>,
    entry: Entry<'_>,
    route: &FieldPath,
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
    let wanted = Applicability::unsafe_because(format!("`{key}` then takes effect for the pods"));
    let applicability = keeping_comment(entry, wanted);
    let changes = vec![
        Change::Remove { route: from },
        Change::Set { route: to, value },
    ];
    Fix::of_object(
        object,
        format!("move `{key}` to the pod template"),
        applicability,
        changes,
    )
}
