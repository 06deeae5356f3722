//! Rule `ambient-and-injection-labels`, documented in `docs/rules/ambient-and-injection-labels.md`.

use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::kube::Object;
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_predict::predict::WorkloadPrediction;

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;

declare_rule! {
    "ambient-and-injection-labels", Warning, fix: None, scope: Tree
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.context
        .inventory
        .namespaces
        .iter()
        .filter_map(|namespace| report(cx, namespace))
        .collect()
}

fn report<'t>(cx: &RuleContext<'_, 't>, namespace: &Object<'t>) -> Option<Finding> {
    let mode = namespace.label(keys::DATAPLANE_MODE)?;
    if mode.value.text() != Some("ambient") {
        return None;
    }
    let injection = namespace.label(keys::NAMESPACE_INJECTION);
    let injection_label = injection
        .filter(|label| label.value.text() == Some("enabled"))
        .or_else(|| {
            namespace
                .label(keys::REVISION)
                .filter(|_| injection.is_none())
        })?;
    let is_in_namespace = |pod: &&&WorkloadPrediction<'t>| {
        cx.context
            .namespace_of(&pod.workload.object)
            .manifest()
            .is_some_and(|object| std::ptr::eq(object, namespace))
    };
    let mut pods = cx
        .by_namespace
        .get(namespace.name())
        .into_iter()
        .flatten()
        .filter(is_in_namespace)
        .peekable();
    // Without a pod that shows whether it is injected, the revision may be one that no control plane serves.
    let is_injected = match pods.peek() {
        None => injection.is_some(),
        Some(_) => pods.any(|pod| pod.passes_injector),
    };
    if !is_injected {
        return None;
    }
    let message = format!(
        "namespace `{}` requests both ambient mode and sidecar injection: its pods are injected \
         and leave ambient mode",
        namespace.name(),
    );
    let mut finding = RULE.finding_on_deployed(namespace, mode.value.span(), message);
    finding.field = Some(format!("metadata.labels.{}", keys::DATAPLANE_MODE));
    finding
        .related
        .push(namespace.label_at(injection_label.value.span(), "this label enables injection"));
    finding.help = Some("keep the label of the intended mode and remove the other".to_owned());
    Some(finding)
}
