//! Rule `namespace-unknown`, documented in `docs/rules/namespace-unknown.md`.

use std::collections::{BTreeMap, BTreeSet};

use meshprobe_mesh::finding::{Certainty, Finding};
use meshprobe_predict::context::Dataplane;
use meshprobe_predict::predict::{Cause, HandlerPrediction, WorkloadPrediction};
use meshprobe_yaml::Span;

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;

declare_rule! {
    "namespace-unknown", Note, fix: None, scope: Tree
}

/// The option that sets whether the namespace is injected.
const SETTLE: &str = "--assume injection=all|none";

/// Workloads of one namespace, and what is assumed about it.
struct UnknownNamespace {
    finding: Finding,
    /// Why the namespace seems to be in the mesh; empty if nothing shows that.
    evidence: BTreeSet<String>,
    workloads: usize,
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    let mut namespaces: BTreeMap<(String, bool), UnknownNamespace> = BTreeMap::new();
    // The first workload is the place of the finding.
    let (targets, others): (Vec<_>, Vec<_>) = cx.pods().partition(|pod| pod.is_target);
    let pods = targets.into_iter().chain(others);
    for pod in pods.filter(|pod| depends_on_mesh(pod)) {
        let injection = cx.context.istio(&pod.workload).injection();
        // A member of a mesh of OpenShift Service Mesh needs no label.
        let Some(assumed) = injection
            .assumed_namespace()
            .filter(|_| !injection.is_per_pod())
        else {
            continue;
        };
        let key = (assumed.name, assumed.evidence.is_none());
        let unknown = namespaces.entry(key).or_insert_with(|| UnknownNamespace {
            finding: RULE.finding_on_object(
                &pod.workload.object,
                namespace_span(pod),
                String::new(),
            ),
            evidence: BTreeSet::new(),
            workloads: 0,
        });
        unknown.workloads += 1;
        unknown.evidence.extend(assumed.evidence);
    }
    namespaces
        .into_iter()
        .map(|((name, _), unknown)| complete(unknown, &name))
        .collect()
}

fn namespace_span(pod: &WorkloadPrediction<'_>) -> Span {
    let object = &pod.workload.object;
    object
        .metadata()
        .and_then(|metadata| metadata.get("namespace"))
        .map_or_else(|| object.name_span(), |namespace| namespace.span())
}

/// Adds the message, the certainty and the help to the finding about a namespace.
fn complete(unknown: UnknownNamespace, name: &str) -> Finding {
    let affected = match unknown.workloads {
        1 => "1 workload depends on it".to_owned(),
        count => format!("{count} workloads depend on it"),
    };
    let evidence: Vec<String> = unknown.evidence.into_iter().collect();
    let (assumption, certainty) = match evidence.as_slice() {
        [] => (
            "it is not known whether it is injected".to_owned(),
            Certainty::Unknown,
        ),
        evidence => (
            format!("assumed to be injected, because {}", evidence.join(", or ")),
            Certainty::Assumed,
        ),
    };
    let mut finding = unknown.finding;
    finding.message =
        format!("no Namespace manifest for `{name}` in scope: {assumption} ({affected})");
    finding.certainty = certainty;
    finding.help = Some(format!(
        "add the manifest with `--context`, or set `{SETTLE}`"
    ));
    finding
}

/// Returns whether the labels of the Namespace can change the outcome of a handler. They do not matter for a pod that
/// opts out.
fn depends_on_mesh(pod: &WorkloadPrediction<'_>) -> bool {
    pod.dataplane.value != Dataplane::None && pod.handlers.iter().any(depends_on_namespace)
}

/// Returns whether the labels of the Namespace can change the outcome of a handler.
fn depends_on_namespace(handler: &HandlerPrediction<'_>) -> bool {
    let verdict = &handler.verdict;
    verdict.cause != Cause::NoNetwork && !verdict.outcome.is_invalid()
}
