//! Rule `mesh-config-conflict`, documented in `docs/rules/mesh-config-conflict.md`.

use std::sync::Arc;

use meshprobe_mesh::finding::{Finding, Label};
use meshprobe_predict::context::Conflict;
use meshprobe_predict::predict::WorkloadPrediction;

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;

declare_rule! {
    "mesh-config-conflict", Note, fix: None, scope: Tree
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    for pod in cx.pods().filter(|pod| !pod.handlers.is_empty()) {
        for conflict in cx.context.istio(&pod.workload).installation().conflicts() {
            let sides = 0..conflict.sides.len();
            let all: Vec<Finding> = sides
                .filter_map(|side| report(&conflict, side, pod))
                .collect();
            let reported = all.iter().find(|finding| cx.context.reports(finding));
            let Some(finding) = reported.or(all.first()).cloned() else {
                continue;
            };
            // The same conflict affects every workload of the cluster.
            let is_same = |reported: &Finding| {
                reported.primary == finding.primary && reported.message == finding.message
            };
            if !findings.iter().any(is_same) {
                findings.push(finding);
            }
        }
    }
    findings
}

/// Reports a conflict at the place of one of its sides.
fn report(conflict: &Conflict, side: usize, pod: &WorkloadPrediction<'_>) -> Option<Finding> {
    let mut others = conflict.sides.clone();
    let (value, place) = &(side < others.len()).then(|| others.remove(side))?;
    let (other, _) = others.iter().find(|(other, _)| other != value)?;
    let key = conflict.key;
    let message = format!(
        "several installations may apply to the pods: {key} is {} here and {} in another one; the verdict is \
         computed for each",
        shown(value),
        shown(other),
    );
    // The places are in another object than the workload.
    let mut finding =
        RULE.finding_on_workload(&pod.workload, pod.workload.object.name_span(), message);
    finding.object = None;
    finding.document = 0;
    finding.primary = Label {
        path: Arc::clone(&place.path),
        span: place.span,
        message: String::new(),
    };
    // One installation shows each other value.
    let mut values = vec![value];
    let related = others
        .iter()
        .filter(|(other, _)| {
            let is_new = !values.contains(&other);
            values.push(other);
            is_new
        })
        .map(|(value, place)| Label {
            message: format!("{key} = {value}"),
            ..place.clone()
        });
    finding.related.extend(related);
    finding.help =
        Some("keep the files of one cluster in one folder, or set the value with an option".into());
    Some(finding)
}

/// Returns a value for a message.
fn shown(value: &str) -> String {
    match value {
        "unknown" => "not known".to_owned(),
        value => format!("`{value}`"),
    }
}
