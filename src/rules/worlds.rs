//! Notes about what may happen: handlers that are fine as far as the tree says, and spoiled if a
//! fact that nobody settled is not what it was taken for.

use crate::context::Context;
use crate::finding::{Applicability, Certainty, Finding, Severity};
use crate::predict::{Outcome, WorkloadPrediction, World, evident_worlds};

use super::pod_labels::PodLabels;
use super::rewrite_cure::RewriteCures;
use super::{Scene, Scope, run, scene};

/// What spoils a handler; the words of the outcomes are those of the findings.
const BAD: [Outcome; 3] = [
    Outcome::Fails,
    Outcome::AlwaysPasses,
    Outcome::TargetChanged,
];

/// Returns what the rules say of the other worlds, each as a note.
pub(super) fn check(context: &Context<'_>, predictions: &[WorkloadPrediction<'_>]) -> Vec<Finding> {
    let targets = predictions.iter().filter(|one| one.is_target);
    targets
        .flat_map(|prediction| evident_worlds(context, prediction))
        .flat_map(|world| notes(&world))
        .collect()
}

fn notes(world: &World<'_>) -> Vec<Finding> {
    let predictions = std::slice::from_ref(&world.prediction);
    let by_namespace = scene::by_namespace(&world.context, predictions);
    let scene = Scene {
        context: &world.context,
        predictions,
        by_namespace: &by_namespace,
        by_label: &PodLabels::default(),
        cures: &RewriteCures::default(),
    };
    // Only what a verdict leads to differs between worlds.
    let is_verdict =
        |finding: &Finding| BAD.iter().any(|bad| finding.outcome == Some(bad.as_str()));
    run(Scope::Workloads, &scene)
        .filter(is_verdict)
        .map(|finding| note(world, finding))
        .collect()
}

fn note(world: &World<'_>, mut finding: Finding) -> Finding {
    finding.message = format!("if {}: {}", world.said(), finding.message);
    finding.severity = Severity::Note;
    finding.certainty = finding.certainty.min(Certainty::Assumed);
    for (said, settle) in &world.suppositions {
        scene::assume(&mut finding, said, settle);
    }
    if let Some(fix) = &mut finding.fix {
        // Nothing is mended of which nobody knows whether it is broken.
        fix.applicability = Applicability::DisplayOnly;
    }
    finding
}
