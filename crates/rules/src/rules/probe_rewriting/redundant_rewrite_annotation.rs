//! Rule `redundant-rewrite-annotation`, documented in `docs/rules/redundant-rewrite-annotation.md`.

use meshprobe_mesh::finding::{Applicability, Finding, Fix};
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_mesh::mesh::istio::rewrite::parse_bool;
use meshprobe_predict::context::Dataplane;
use meshprobe_predict::predict::WorkloadPrediction;

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;
use crate::rules::support::enable_rewrite;
use crate::rules::support::pod_metadata::{self, MetadataMap};

declare_rule! {
    "redundant-rewrite-annotation", Note, fix: Always, scope: Workloads
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.pods().filter_map(|pod| report(cx, pod)).collect()
}

fn report<'t>(cx: &RuleContext<'_, 't>, pod: &WorkloadPrediction<'t>) -> Option<Finding> {
    let template = &pod.workload.template;
    let entry = template.annotation(keys::REWRITE_PROBERS)?;
    let on = entry.value.text().and_then(parse_bool) == Some(true);
    let in_mesh = matches!(
        pod.dataplane.value,
        Dataplane::Sidecar | Dataplane::Uncaptured
    );
    // Without it, the other value would apply and not the default.
    let is_override = pod_metadata::is_override(&pod.workload, &entry);
    if !on
        || is_override
        || !in_mesh
        || !pod.rewrite.value
        || !enable_rewrite::is_default_sure(cx, pod)
    {
        return None;
    }
    let message = format!(
        "annotation `{}: \"true\"` has no effect: the mesh rewrites probes by default",
        keys::REWRITE_PROBERS
    );
    let mut finding = RULE.finding_on_workload(&pod.workload, entry.key.span(), message);
    finding.depend_on(&cx.context.istio(&pod.workload).rewriting().mesh_default());
    let field = template.within.child("metadata").child("annotations");
    finding.field = Some(field.child(keys::REWRITE_PROBERS).to_string());
    let degree = pod_metadata::removal_applicability(pod, &[entry], Applicability::Safe);
    let keys = [keys::REWRITE_PROBERS];
    let changes = pod_metadata::removal_changes(template, MetadataMap::Annotation, &keys);
    let object = &pod.workload.object;
    finding.fix = Some(Fix::of_object(
        object,
        "remove the annotation",
        degree,
        changes,
    ));
    Some(finding)
}
