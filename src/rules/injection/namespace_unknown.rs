//! Rule `namespace-unknown`, documented in `docs/rules/namespace-unknown.md`.

use std::collections::BTreeMap;

use crate::finding::{Certainty, Finding};
use crate::predict::{Cause, HandlerPrediction, WorkloadPrediction};
use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;

declare_rule! {
    "namespace-unknown", Note, fix: None, scope: Tree
}

/// The option that sets whether the namespace is injected.
const SETTLE: &str = "--assume injection=all|none";

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    let mut gaps: BTreeMap<String, (Finding, Option<String>, usize)> = BTreeMap::new();
    for pod in cx.pods().filter(|pod| depends_on_mesh(pod)) {
        let Some(assumed) = cx
            .context
            .istio(&pod.workload)
            .injection()
            .assumed_namespace()
        else {
            continue;
        };
        let object = &pod.workload.object;
        let span = object
            .metadata()
            .and_then(|metadata| metadata.get("namespace"))
            .map_or_else(|| object.name_span(), |namespace| namespace.span());
        let (_, evidence, count) = gaps.entry(assumed.name).or_insert_with(|| {
            let finding = RULE.finding_on_object(object, span, String::new());
            (finding, None, 0)
        });
        *count += 1;
        *evidence = evidence.take().or(assumed.evidence);
    }
    gaps.into_iter()
        .map(|(name, (finding, evidence, count))| complete(finding, &name, evidence, count))
        .collect()
}

/// Adds the message, the certainty and the help to a finding. `evidence` is why the namespace seems to be in the mesh,
/// and `count` the number of workloads that depend on it.
fn complete(mut finding: Finding, name: &str, evidence: Option<String>, count: usize) -> Finding {
    let affected = match count {
        1 => "1 workload depends on it".to_owned(),
        count => format!("{count} workloads depend on it"),
    };
    let (assumption, certainty) = match evidence {
        Some(evidence) => (
            format!("assumed to be injected, because {evidence}"),
            Certainty::Assumed,
        ),
        None => (
            "it is not known whether it is injected".to_owned(),
            Certainty::Unknown,
        ),
    };
    finding.message =
        format!("no Namespace manifest for `{name}` in scope: {assumption} ({affected})");
    finding.certainty = certainty;
    finding.help = Some(format!(
        "add the manifest with `--context`, or set `{SETTLE}`"
    ));
    finding
}

fn depends_on_mesh(pod: &WorkloadPrediction<'_>) -> bool {
    pod.handlers.iter().any(depends_on_namespace)
}

/// Returns whether the labels of the Namespace can change the outcome of a handler.
fn depends_on_namespace(handler: &HandlerPrediction<'_>) -> bool {
    let verdict = &handler.verdict;
    verdict.cause != Cause::NoNetwork && !verdict.outcome.is_invalid()
}
