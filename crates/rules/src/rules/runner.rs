//! The list of all rules, and running them over the predictions and their alternatives.

use std::sync::LazyLock;

use super::context::{RuleContext, by_namespace};
use super::rule::{Rule, Scope};
use meshprobe_mesh::finding::{Applicability, Certainty, Finding, Severity};
use meshprobe_predict::context::Context;
use meshprobe_predict::predict::{
    Alternative, EnvironmentNames, Outcome, WorkloadPrediction, evident_alternatives,
};
use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};

use crate::rules::context::RewriteEffects;
use crate::rules::support::environments::{self, ChartObjects, OtherOutcomes};
use crate::rules::support::fix_safety;

static ALL: LazyLock<Vec<&'static Rule>> = LazyLock::new(|| {
    let groups = super::GROUPS.iter().chain(super::mesh::GROUPS);
    let mut rules: Vec<&Rule> = groups.copied().flatten().copied().collect();
    rules.sort_unstable_by_key(|rule| rule.id);
    rules
});

/// Returns every rule, sorted by id.
#[must_use]
pub fn all() -> &'static [&'static Rule] {
    &ALL
}

/// Returns the rules of a scope, sorted by id.
fn of_scope(scope: Scope) -> impl Iterator<Item = &'static Rule> {
    all()
        .iter()
        .copied()
        .filter(move |rule| rule.scope == scope)
}

/// Runs the rules of a scope.
fn run_scope(scope: Scope, cx: &RuleContext<'_, '_>) -> impl Iterator<Item = Finding> {
    of_scope(scope).flat_map(|rule| rule.findings(cx))
}

/// A function that marks each finding before the findings of several overlays are merged. It receives the
/// predictions of the render unit, or all predictions for rules about the whole tree.
type Mark<'m> = &'m dyn Fn(&[WorkloadPrediction<'_>], &mut Finding);

/// Runs every rule on the predictions. A finding that several overlays of one base have in common is reported
/// once, with these overlays.
#[must_use]
pub fn check(context: &Context<'_>, predictions: &[WorkloadPrediction<'_>]) -> Vec<Finding> {
    check_marked(context, predictions, &|_, _| {}).reported
}

/// The findings of the rules.
#[derive(Debug)]
pub struct Found {
    /// The findings to report, merged.
    pub reported: Vec<Finding>,
    /// The findings in files that are only read for facts, of each overlay.
    pub elsewhere: Vec<Finding>,
}

/// Runs every rule on the predictions, as [`check`] does, and marks each finding with `mark` before the merge.
#[must_use]
pub fn check_marked(
    context: &Context<'_>,
    predictions: &[WorkloadPrediction<'_>],
    mark: Mark<'_>,
) -> Found {
    let by_namespace = by_namespace(context, predictions);
    let names = EnvironmentNames::with_objects(predictions, context.inventory.namespaces.iter());
    let charts = ChartObjects::of(predictions);
    let environments = (&names, &charts);
    let whole = RuleContext {
        context,
        predictions,
        by_namespace: &by_namespace,
        rewrite_effects: &RewriteEffects::default(),
    };
    let of_tree: Vec<&Rule> = of_scope(Scope::Tree).collect();
    let found: Vec<Vec<Finding>> = of_tree
        .par_iter()
        .map(|rule| rule.findings(&whole))
        .collect();
    let mut findings: Vec<Finding> = found
        .into_iter()
        .flatten()
        .map(|finding| {
            let finding = marked(mark, predictions, finding);
            environments::attach_overlay(context, environments, None, finding)
        })
        .collect();
    // The predictions are sorted by kustomization.
    let units: Vec<&[WorkloadPrediction<'_>]> = predictions
        .chunk_by(environments::is_same_overlay)
        .collect();
    let found: Vec<Vec<Finding>> = units
        .par_iter()
        .map(|predictions| {
            let cx = RuleContext {
                context,
                predictions,
                by_namespace: &by_namespace,
                rewrite_effects: &RewriteEffects::default(),
            };
            let alternatives = alternative_findings(context, predictions);
            run_scope(Scope::Workloads, &cx)
                .chain(alternatives)
                .collect()
        })
        .collect();
    for (predictions, found) in units.into_iter().zip(found) {
        let overlay = predictions.first().and_then(environments::overlay_of);
        findings.extend(found.into_iter().map(|finding| {
            let finding = marked(mark, predictions, finding);
            environments::attach_overlay(context, environments, overlay, finding)
        }));
    }
    // Findings of other overlays must not be merged into those of the overlays that are reported.
    let (mut findings, elsewhere): (Vec<_>, Vec<_>) = findings
        .into_iter()
        .partition(|finding| context.reports(finding));
    let guard = fix_safety::Guard::new(predictions);
    for finding in &mut findings {
        guard.apply(finding);
    }
    let mut reported = environments::merge(context.sources, findings);
    let outcomes = OtherOutcomes::of(context.sources, predictions);
    for finding in &mut reported {
        outcomes.attach(context.sources, &names, finding);
        environments::name_environments(&names, finding);
        finding.sort_environments();
    }
    Found {
        reported,
        elsewhere,
    }
}

fn marked(mark: Mark<'_>, predictions: &[WorkloadPrediction<'_>], mut finding: Finding) -> Finding {
    mark(predictions, &mut finding);
    finding
}

/// The outcomes of a broken handler.
const BAD: [Outcome; 3] = [
    Outcome::Fails,
    Outcome::AlwaysPasses,
    Outcome::TargetChanged,
];

/// Returns the findings of the rules about the alternatives of the predictions, each as a note.
fn alternative_findings(
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
    let condition = format!("if {}: ", alternative.description());
    finding.message.insert_str(0, &condition);
    if let Some(sentence) = &mut finding.sentence {
        sentence.start.insert_str(0, &condition);
    }
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
