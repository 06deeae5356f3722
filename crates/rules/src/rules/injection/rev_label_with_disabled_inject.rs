//! Rule `rev-label-with-disabled-inject`, documented in `docs/rules/rev-label-with-disabled-inject.md`.

use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_predict::context::proxy_container;
use meshprobe_predict::predict::WorkloadPrediction;
use meshprobe_tree::source::placeholder;
use meshprobe_yaml::FieldPath;

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;
use crate::rules::support::pod_metadata::{self, MetadataMap};

declare_rule! {
    "rev-label-with-disabled-inject", Note, fix: None, scope: Workloads
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
    let entry = template.label(keys::REVISION)?;
    let name = entry.value.text()?;
    if only_records_revision(pod) || placeholder::contains(name) {
        return None;
    }
    let opt_out = template
        .label(keys::INJECT)
        .filter(|entry| entry.value.text() == Some("false"));
    let namespace = cx.context.namespace_of(&workload.object).manifest();
    let (why, related) = if let Some(opt_out) = opt_out {
        let label = workload
            .object
            .label_at(opt_out.value.span(), "injection is disabled here");
        ("the pod opts out of injection".to_owned(), label)
    } else {
        let namespace = namespace?;
        let label = namespace
            .label(keys::NAMESPACE_INJECTION)
            .or_else(|| namespace.label(keys::REVISION))?;
        let selected = label.value.text()?;
        let is_same = selected == name || (selected == "enabled" && name == "default");
        if is_same || placeholder::contains(selected) {
            return None;
        }
        let related = namespace.label_at(label.value.span(), "this label takes precedence");
        let why = format!(
            "the label of namespace `{}` takes precedence",
            namespace.name()
        );
        (why, related)
    };
    let message = format!("label `{}={name}` is ignored: {why}", keys::REVISION);
    let mut finding =
        pod_metadata::finding_on_entry(&RULE, workload, MetadataMap::Label, entry, message);
    finding.related.push(related);
    finding.help = Some("remove this label, or the label that makes Istio ignore it".to_owned());
    Some(finding)
}

/// Returns whether the label only records the revision of a pod. The injector adds the label to the pods that it
/// injects, and Istio's charts to the pods of Istio.
fn only_records_revision(pod: &WorkloadPrediction<'_>) -> bool {
    let workload = &pod.workload;
    let istio_labels = [
        "operator.istio.io/component",
        "install.operator.istio.io/owning-resource",
    ];
    workload.template.annotation(keys::STATUS).is_some()
        || proxy_container(workload).is_some()
        || (workload.template.within != FieldPath::root()
            && workload.object.label(keys::REVISION).is_some())
        || istio_labels
            .iter()
            .any(|key| workload.template.label(key).is_some())
}
