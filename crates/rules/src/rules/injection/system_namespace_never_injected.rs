//! Rule `system-namespace-never-injected`, documented in `docs/rules/system-namespace-never-injected.md`.

use meshprobe_mesh::finding::{Applicability, Finding, Fix};
use meshprobe_mesh::kube::Object;
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_predict::context::Dataplane;
use meshprobe_predict::predict::WorkloadPrediction;
use meshprobe_yaml::{Change, FieldPath};

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;
use crate::rules::support::pod_metadata::{self, MetadataMap, keeping_comment};
use crate::rules::support::selected_labels::keep_selected;

declare_rule! {
    "system-namespace-never-injected", Note, fix: Always, scope: Tree
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    if !cx.may_have_mesh() {
        return Vec::new();
    }
    let mut findings: Vec<Finding> = cx
        .namespaces()
        .filter(|namespace| keys::SYSTEM_NAMESPACES.contains(&namespace.name()))
        .filter_map(|namespace| report_namespace(cx, namespace))
        .collect();
    findings.extend(cx.pods().filter_map(|pod| report_pod(cx, pod)));
    findings
}

fn report_namespace(cx: &RuleContext<'_, '_>, namespace: &Object<'_>) -> Option<Finding> {
    let injection = namespace.label(keys::NAMESPACE_INJECTION);
    let entry = injection
        .filter(|entry| entry.value.text() == Some("enabled"))
        .or_else(|| {
            namespace
                .label(keys::REVISION)
                .filter(|_| injection.is_none())
        })?;
    let key = entry.key.text()?;
    let message = format!(
        "label `{key}` has no effect: Istio never injects namespace `{}`",
        namespace.name()
    );
    let mut finding = RULE.finding_on_object(namespace, entry.value.span(), message);
    let labels = FieldPath::keys(&["metadata", "labels"]);
    finding.field = Some(labels.child(key.to_owned()).to_string());
    finding.help =
        Some("remove the label, or run pods that need a sidecar in another namespace".to_owned());
    let degree = keeping_comment(entry, Applicability::Safe);
    let holder = namespace.node.at(&labels)?;
    let route = namespace.route.join(&labels);
    let route = if holder.entries().len() == 1 && !holder.has_merge_key() {
        route
    } else {
        route.child(key.to_owned())
    };
    let changes = vec![Change::Remove { route }];
    finding.fix = Some(Fix::of_object(
        namespace,
        format!("remove `{key}`"),
        degree,
        changes,
    ));
    keep_selected(cx.context, key, &mut finding);
    Some(finding)
}

fn report_pod(cx: &RuleContext<'_, '_>, pod: &WorkloadPrediction<'_>) -> Option<Finding> {
    let workload = &pod.workload;
    let namespace = pod.namespace.as_deref()?;
    let entry = workload.template.label(keys::INJECT)?;
    let requests_sidecar = entry.value.text() == Some("true");
    let has_own_sidecar = pod.dataplane.value == Dataplane::Sidecar;
    if !requests_sidecar || has_own_sidecar || !keys::SYSTEM_NAMESPACES.contains(&namespace) {
        return None;
    }
    let message = format!(
        "{} gets no sidecar: Istio never injects namespace `{namespace}`",
        workload.title()
    );
    let mut finding =
        pod_metadata::finding_on_entry(&RULE, workload, MetadataMap::Label, entry, message);
    finding.help = Some("remove the label, or run the pod in another namespace".to_owned());
    let degree = pod_metadata::removal_applicability(pod, &[entry], Applicability::Safe);
    let changes =
        pod_metadata::removal_changes(&workload.template, MetadataMap::Label, &[keys::INJECT]);
    let title = format!("remove `{}`", keys::INJECT);
    finding.fix = Some(Fix::of_object(&workload.object, title, degree, changes));
    keep_selected(cx.context, keys::INJECT, &mut finding);
    Some(finding)
}
