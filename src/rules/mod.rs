//! The rules: one file each, on top of the prediction.

mod annotation_bad_boolean;
mod annotation_on_workload_metadata;
mod enable_rewrite;
mod http_probe_host_rewritten;
mod https_probe_strict;
mod named_port_unresolved;
mod overlay;
mod probe_field_invalid;
mod rewritten_without_sidecar;
mod rule;
mod scene;
mod strict_probe_not_rewritten;
mod suggest;
mod tcp_probe_always_passes;

use crate::context::Context;
use crate::finding::Finding;
use crate::predict::WorkloadPrediction;

pub use rule::{Example, FixAvailability, Rule, Scope, Sections};
pub use scene::Scene;

/// Every rule, sorted by id.
static ALL: &[Rule] = &[
    annotation_bad_boolean::RULE,
    annotation_on_workload_metadata::RULE,
    http_probe_host_rewritten::RULE,
    https_probe_strict::RULE,
    named_port_unresolved::RULE,
    probe_field_invalid::RULE,
    rewritten_without_sidecar::RULE,
    strict_probe_not_rewritten::RULE,
    tcp_probe_always_passes::RULE,
];

/// Returns every rule, sorted by id.
#[must_use]
pub fn all() -> &'static [Rule] {
    ALL
}

/// Runs every rule over the predictions. What several overlays of one base have in common is said
/// once, with the overlays it holds for.
#[must_use]
pub fn check(context: &Context<'_>, predictions: &[WorkloadPrediction<'_>]) -> Vec<Finding> {
    let whole = Scene {
        context,
        predictions,
    };
    let mut findings: Vec<Finding> = run(Scope::Tree, &whole)
        .map(|finding| overlay::place(context, None, finding))
        .collect();
    // Workloads come kustomization by kustomization.
    for predictions in predictions.chunk_by(|a, b| overlay::of(a) == overlay::of(b)) {
        let scene = Scene {
            context,
            predictions,
        };
        let home = predictions.first().and_then(overlay::of);
        let found = run(Scope::Workloads, &scene);
        findings.extend(found.map(|finding| overlay::place(context, home, finding)));
    }
    overlay::merged(findings)
}

fn run(scope: Scope, scene: &Scene<'_, '_>) -> impl Iterator<Item = Finding> {
    let rules = all().iter().filter(move |rule| rule.scope == scope);
    rules.flat_map(|rule| (rule.check)(scene))
}
