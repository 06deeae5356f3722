//! Rule `inject-label-blocked-by-namespace`, documented in `docs/rules/inject-label-blocked-by-namespace.md`.

use meshprobe_mesh::finding::{Certainty, Finding};
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_predict::context::Dataplane;
use meshprobe_predict::predict::WorkloadPrediction;

use crate::rules::RuleContext;
use crate::rules::injection::inject_annotation_never_seen::never_injected;
use crate::rules::rule::declare_rule;
use crate::rules::support::pod_metadata::{self, MetadataMap};

declare_rule! {
    "inject-label-blocked-by-namespace", Error, fix: None, scope: Workloads
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    if !cx.may_have_mesh() {
        return Vec::new();
    }
    cx.pods().filter_map(|pod| report(cx, pod)).collect()
}

fn report<'t>(cx: &RuleContext<'_, 't>, pod: &WorkloadPrediction<'t>) -> Option<Finding> {
    let workload = &pod.workload;
    let entry = workload.template.label(keys::INJECT)?;
    let namespace = cx.context.namespace_of(&workload.object).manifest()?;
    let label = namespace.label(keys::NAMESPACE_INJECTION)?;
    let value = label.value.text()?;
    let is_outside = matches!(pod.dataplane.value, Dataplane::None | Dataplane::Ambient);
    let requests_sidecar = entry.value.text() == Some("true");
    if !requests_sidecar
        || value == "enabled"
        || !is_outside
        || pod.passes_injector
        || never_injected(pod)
    {
        return None;
    }
    let message = format!(
        "{} gets no sidecar: label `{}={value}` on namespace `{}` takes precedence over the labels \
         of its pods",
        workload.title(),
        keys::NAMESPACE_INJECTION,
        namespace.name(),
    );
    let mut finding =
        pod_metadata::finding_on_entry(&RULE, workload, MetadataMap::Label, entry, message);
    if pod.dataplane.certainty != Certainty::Known {
        finding.depend_on(&pod.dataplane);
    }
    finding.related.push(namespace.label_at(
        label.value.span(),
        "this label prevents the injection of single pods",
    ));
    finding.help = Some(
        "remove that label: without it, Istio injects only the pods that request a sidecar"
            .to_owned(),
    );
    Some(finding)
}
