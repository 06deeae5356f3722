//! Notes about handlers that work according to the tree, but break if an assumed fact has another value.

use meshprobe_mesh::finding::{Applicability, Certainty, Finding, Severity};
use meshprobe_predict::context::Context;
use meshprobe_predict::predict::{Alternative, Outcome, WorkloadPrediction, evident_alternatives};

use crate::rules::context::{RuleContext, by_namespace};
use crate::rules::registry::run_scope;
use crate::rules::rule::Scope;
use crate::rules::support::rewrite_effect::RewriteEffects;

/// The outcomes of a broken handler.
const BAD: [Outcome; 3] = [
    Outcome::Fails,
    Outcome::AlwaysPasses,
    Outcome::TargetChanged,
];

/// Returns the findings of the rules about the alternatives of the predictions, each as a note.
pub(in crate::rules) fn check(
    context: &Context<'_>,
    predictions: &[WorkloadPrediction<'_>],
) -> Vec<Finding> {
    predictions
        .iter()
        .flat_map(|prediction| evident_alternatives(context, prediction))
        .flat_map(|alternative| notes(&alternative))
        .collect()
}

fn notes(alternative: &Alternative<'_>) -> Vec<Finding> {
    let predictions = std::slice::from_ref(&alternative.prediction);
    let by_namespace = by_namespace(&alternative.context, predictions);
    let cx = RuleContext {
        context: &alternative.context,
        predictions,
        by_namespace: &by_namespace,
        rewrite_effects: &RewriteEffects::default(),
    };
    // Only findings that follow from a verdict differ between alternatives.
    let is_verdict =
        |finding: &Finding| BAD.iter().any(|bad| finding.outcome == Some(bad.as_str()));
    run_scope(Scope::Workloads, &cx)
        .filter(is_verdict)
        .map(|finding| note(alternative, finding))
        .collect()
}

fn note(alternative: &Alternative<'_>, mut finding: Finding) -> Finding {
    finding.message = format!("if {}: {}", alternative.description(), finding.message);
    finding.severity = Severity::Note;
    finding.certainty = finding.certainty.min(Certainty::Assumed);
    for (assumption, settle) in &alternative.suppositions {
        finding.assume(assumption, settle);
    }
    if let Some(fix) = &mut finding.fix {
        // Never auto-fix an uncertain finding.
        let reason = format!("it is only needed if {}", alternative.description());
        fix.limit_to(Applicability::display_only_because(reason));
    }
    finding
}
