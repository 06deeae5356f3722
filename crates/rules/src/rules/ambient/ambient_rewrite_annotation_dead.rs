//! Rule `ambient-rewrite-annotation-dead`, documented in `docs/rules/ambient-rewrite-annotation-dead.md`.

use meshprobe_mesh::finding::{Applicability, Certainty, Finding, Fix};
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_predict::context::Dataplane;
use meshprobe_predict::predict::{Cause, HandlerPrediction, WorkloadPrediction};

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;
use crate::rules::support::pod_metadata::{self, MetadataMap};

declare_rule! {
    "ambient-rewrite-annotation-dead", Note, fix: Always, scope: Workloads
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.pods()
        .filter(|pod| pod.dataplane.value == Dataplane::Ambient)
        .filter_map(report)
        .collect()
}

fn report(pod: &WorkloadPrediction<'_>) -> Option<Finding> {
    let template = &pod.workload.template;
    let entry = template.annotation(keys::REWRITE_PROBERS)?;
    let points_at_agent =
        |handler: &HandlerPrediction<'_>| handler.verdict.cause == Cause::RewrittenWithoutSidecar;
    if pod.prober_env.is_some() || pod.handlers.iter().any(points_at_agent) {
        return None;
    }
    let message = format!(
        "annotation `{}` has no effect: {} is in ambient mode, where probes are not rewritten and \
         bypass ztunnel",
        keys::REWRITE_PROBERS,
        pod.workload.title(),
    );
    let mut finding = RULE.finding_on_workload(&pod.workload, entry.key.span(), message);
    let route = template.within.child("metadata").child("annotations");
    finding.field = Some(route.child(keys::REWRITE_PROBERS).to_string());
    finding.depend_on(&pod.dataplane);
    finding.help = Some("remove the annotation".to_owned());
    let wanted = if pod.dataplane.certainty == Certainty::Known {
        Applicability::Safe
    } else {
        Applicability::unsafe_because(
            "ambient mode is assumed, and the annotation has an effect on a pod with a sidecar",
        )
    };
    let degree = pod_metadata::removal_applicability(pod, &[entry], wanted);
    let keys = [keys::REWRITE_PROBERS];
    let changes = pod_metadata::removal_changes(template, MetadataMap::Annotation, &keys);
    let title = format!("remove `{}`", keys::REWRITE_PROBERS);
    let object = &pod.workload.object;
    finding.fix = Some(Fix::of_object(object, title, degree, changes));
    Some(finding)
}
