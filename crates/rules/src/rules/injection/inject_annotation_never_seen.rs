//! Rule `inject-annotation-never-seen`, documented in `docs/rules/inject-annotation-never-seen.md`.

use meshprobe_mesh::finding::{Applicability, Finding, Fix};
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_predict::context::Dataplane;
use meshprobe_predict::predict::WorkloadPrediction;
use meshprobe_yaml::{Change, Entry, Value};

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;
use crate::rules::support::pod_metadata::{self, MetadataMap};

declare_rule! {
    "inject-annotation-never-seen", Error, fix: Sometimes, scope: Workloads
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    if !cx.may_have_mesh() {
        return Vec::new();
    }
    cx.pods().filter_map(|pod| report(cx, pod)).collect()
}

fn report<'t>(cx: &RuleContext<'_, 't>, pod: &WorkloadPrediction<'t>) -> Option<Finding> {
    let workload = &pod.workload;
    let template = &workload.template;
    let entry = template.annotation(keys::INJECT)?;
    let requests_sidecar =
        entry.value.text() == Some("true") && template.label(keys::INJECT).is_none();
    let is_outside = matches!(pod.dataplane.value, Dataplane::None | Dataplane::Ambient);
    if !requests_sidecar || !is_outside || pod.passes_injector || never_injected(pod) {
        return None;
    }
    let namespace = cx.context.namespace_of(&workload.object).manifest()?;
    let message = format!(
        "{} gets no sidecar: Istio reads annotation `{}` only if a label sends the pod to the \
         injector, and no label of the pod or of namespace `{}` does",
        workload.title(),
        keys::INJECT,
        namespace.name(),
    );
    let mut finding =
        pod_metadata::finding_on_entry(&RULE, workload, MetadataMap::Annotation, entry, message);
    finding.depend_on(&pod.dataplane);
    let blocking_label = [keys::NAMESPACE_INJECTION, keys::REVISION]
        .into_iter()
        .find(|key| namespace.label(key).is_some());
    finding.help = Some(match blocking_label {
        Some(label) => format!("change the label `{label}` of the Namespace"),
        None => "turn the annotation into a label of the pod, or label the Namespace".to_owned(),
    });
    finding.fix = blocking_label.is_none().then(|| fix(pod, entry));
    Some(finding)
}

/// Returns whether Istio never injects a pod, regardless of labels: it uses the host network, or its namespace is a
/// system namespace.
pub(in crate::rules) fn never_injected(pod: &WorkloadPrediction<'_>) -> bool {
    let namespace = pod.namespace.as_deref().unwrap_or_default();
    pod.workload.template.host_network().is_some() || keys::SYSTEM_NAMESPACES.contains(&namespace)
}

fn fix(pod: &WorkloadPrediction<'_>, entry: Entry<'_>) -> Fix {
    let template = &pod.workload.template;
    let mut changes =
        pod_metadata::removal_changes(template, MetadataMap::Annotation, &[keys::INJECT]);
    changes.push(Change::Set {
        route: pod_metadata::route(template, MetadataMap::Label, keys::INJECT),
        value: Value::from("true"),
    });
    let wanted = Applicability::unsafe_because("Istio then injects the pod");
    let degree = pod_metadata::removal_applicability(pod, &[entry], wanted);
    Fix::of_object(
        &pod.workload.object,
        "turn the annotation into a label of the pod",
        degree,
        changes,
    )
}
