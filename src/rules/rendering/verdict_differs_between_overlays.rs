//! Rule `verdict-differs-between-overlays`, documented in `docs/rules/verdict-differs-between-overlays.md`.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::finding::{Finding, Label};
use crate::predict::{HandlerPrediction, Outcome, WorkloadPrediction};
use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;
use crate::rules::support::overlays;
use crate::yaml::Span;

declare_rule! {
    "verdict-differs-between-overlays", Note, fix: None, scope: Tree
}

/// The position of a probe in its file, and the title of its handler.
type ProbeLocation = (Arc<str>, Span, String);

/// A probe in the rendering of one kustomization or cluster.
type Rendered<'s, 't> = (&'s WorkloadPrediction<'t>, &'s HandlerPrediction<'t>, Label);

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    let mut renderings: BTreeMap<ProbeLocation, Vec<Rendered<'_, '_>>> = BTreeMap::new();
    for (pod, handler) in cx.handlers() {
        let object = &pod.workload.object;
        let label = object.label_at(handler.handler.key.span(), String::new());
        let location = (Arc::clone(&label.path), label.span, handler.title());
        renderings
            .entry(location)
            .or_default()
            .push((pod, handler, label));
    }
    renderings
        .values()
        .filter_map(|renderings| report(cx, renderings))
        .collect()
}

/// Reports a probe whose outcome is bad in one rendering and different in another.
fn report(cx: &RuleContext<'_, '_>, renderings: &[Rendered<'_, '_>]) -> Option<Finding> {
    let bad = renderings
        .iter()
        .find(|(_, handler, _)| handler.verdict.outcome.is_bad())?;
    let outcome = bad.1.verdict.outcome;
    let differs = |(pod, handler, _): &&Rendered<'_, '_>| {
        let other = handler.verdict.outcome;
        other != outcome
            && other != Outcome::Unknown
            && pod.workload.object.location_file() != bad.0.workload.object.location_file()
    };
    let other = renderings.iter().find(differs)?;
    let (pod, handler, label) = bad;
    let (bad_unit, other_unit) = unit_names(pod, other.0);
    let message = format!(
        "{} {} in `{bad_unit}`, but {} in `{other_unit}`",
        handler.title(),
        verb(outcome),
        verb(other.1.verdict.outcome),
    );
    let mut finding = RULE.finding_on_workload(&pod.workload, handler.handler.key.span(), message);
    finding.primary = label.clone();
    finding.container = Some(handler.container.name().to_owned());
    finding.field = Some(handler.handler.within.to_string());
    for (pod, handler, _) in renderings {
        let Some(home) = overlays::overlay_of(pod) else {
            continue;
        };
        let message = format!("{} here", verb(handler.verdict.outcome));
        let span = overlays::first_key(cx.context, home);
        let label = Label {
            path: Arc::clone(home),
            span,
            message,
        };
        if !finding.related.contains(&label) {
            finding.related.push(label);
        }
    }
    finding.help = Some("fix the probe for both, or fix it in the overlay".into());
    Some(finding)
}

/// Returns the names that distinguish two renderings: their kustomizations, or what deploys them.
fn unit_names<'t>(
    first: &WorkloadPrediction<'t>,
    second: &WorkloadPrediction<'t>,
) -> (&'t str, &'t str) {
    match (overlays::overlay_of(first), overlays::overlay_of(second)) {
        (Some(first), Some(second)) if first != second => (first, second),
        _ => (
            first.workload.object.location_file(),
            second.workload.object.location_file(),
        ),
    }
}

const fn verb(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Ok => "works",
        Outcome::Fails => "fails",
        Outcome::AlwaysPasses => "always succeeds",
        Outcome::TargetChanged => "checks something else",
        Outcome::InvalidManifest => "is broken even without a mesh",
        Outcome::NotInMesh => "is not in the mesh",
        Outcome::Unknown => "has an unknown outcome",
    }
}
