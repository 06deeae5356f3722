//! Rule `several-meshes`, documented in `docs/rules/several-meshes.md`.

use meshprobe_mesh::finding::Finding;
use meshprobe_predict::context::MeshClaim;
use meshprobe_predict::predict::{
    WorkloadPrediction, how_to_judge_for_rivals, injecting_meshes, predict_workload,
};

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;

declare_rule! {
    "several-meshes", Warning, fix: None, scope: Workloads
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    let pods = cx.pods().filter(|pod| pod.claims.len() > 1);
    pods.map(|pod| report(cx, pod)).collect()
}

fn report(cx: &RuleContext<'_, '_>, pod: &WorkloadPrediction<'_>) -> Finding {
    let title = pod.workload.title();
    let mut message = format!("{} into the pods of {title}", injecting_meshes(pod));
    if let (Some(first), false) = (pod.claims.first(), pod.handlers.is_empty()) {
        let first = first.mesh.title();
        message.push_str(&format!(", whose probes are judged for {first} only"));
    }
    let other_claims = pod.claims.iter().skip(1);
    let certain = other_claims.filter(|claim| claim.is_certain);
    message.extend(certain.filter_map(|claim| other_outcomes(cx, pod, claim)));
    let object = &pod.workload.object;
    let mut finding = RULE.finding_on_workload(&pod.workload, object.name_span(), message);
    finding.related = pod.claims.iter().map(|claim| claim.place.clone()).collect();
    finding.help = Some(how_to_judge_for_rivals(pod));
    finding
}

/// Returns the end of the message that names the outcomes which only another mesh causes.
fn other_outcomes(
    cx: &RuleContext<'_, '_>,
    pod: &WorkloadPrediction<'_>,
    claim: &MeshClaim,
) -> Option<String> {
    let context = cx.context.assuming_mesh(claim.mesh);
    let other = predict_workload(&context, &pod.workload);
    let handlers = pod.handlers.iter().zip(&other.handlers);
    let outcomes: Vec<String> = handlers
        .filter(|(now, other)| now.verdict.outcome != other.verdict.outcome)
        .map(|(_, other)| format!("{} is `{}`", other.title(), other.verdict.outcome.as_str()))
        .collect();
    let (first, others) = outcomes.split_first()?;
    let more = match others.len() {
        0 => String::new(),
        count => format!(" (and {count} more like this)"),
    };
    Some(format!(
        "; for {}, the outcome of {first}{more}",
        claim.mesh.title()
    ))
}
