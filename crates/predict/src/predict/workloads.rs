//! Predicts workloads, with the alternatives that lower the certainty of verdicts.

use std::cmp::Ordering;
use std::sync::Arc;

use meshprobe_mesh::finding::{Certainty, Label};
use meshprobe_mesh::kube::Workload;
use meshprobe_mesh::mesh::Reason;
use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};

use super::prediction::{HandlerPrediction, Verdict, WorkloadPrediction};
use super::single::predict_pod;
use crate::context::{Conflict, Context, PodFacts};

/// Predicts all workloads, in the order of the tree.
#[must_use]
pub fn predict_all<'t>(context: &Context<'t>) -> Vec<WorkloadPrediction<'t>> {
    context
        .inventory
        .workloads
        .par_iter()
        .map(|subject| WorkloadPrediction {
            is_target: subject.is_target,
            ..predict_workload(context, &subject.workload)
        })
        .collect()
}

/// Sorts predictions by file and document, then by the kustomization that renders the document.
pub fn sort_by_place(predictions: &mut [WorkloadPrediction<'_>]) {
    predictions.sort_by(by_place);
}

fn by_place(a: &WorkloadPrediction<'_>, b: &WorkloadPrediction<'_>) -> Ordering {
    let (a, b) = (&a.workload.object, &b.workload.object);
    let files = a.path().cmp(b.path());
    files
        .then(a.document.index.cmp(&b.document.index))
        .then(a.rendered_by.cmp(&b.rendered_by))
        .then(a.overlay.cmp(&b.overlay))
}

/// Predicts one workload. If equally near control planes differ, an outcome that is the same for all of
/// them is not an assumption.
#[must_use]
pub fn predict_workload<'t>(
    context: &Context<'t>,
    workload: &Workload<'t>,
) -> WorkloadPrediction<'t> {
    let facts = context.pod_facts(workload);
    let mut prediction = predict_pod(&facts, facts.rewrite());
    prediction.claims = context.mesh_of(workload).claims();
    settle_control_plane(&facts, &mut prediction);
    settle_unmodelled(context, workload, &mut prediction);
    prediction
}

/// How many control planes are compared. If there are more, the first is assumed.
pub(in crate::predict) const CANDIDATES: usize = 4;

/// Replaces verdicts that are the same for all control planes, and marks the others as assumed.
fn settle_control_plane<'t>(facts: &PodFacts<'_, 't>, prediction: &mut WorkloadPrediction<'t>) {
    let view = facts.installation();
    let conflicts = view.conflicts();
    if conflicts.is_empty() {
        return;
    }
    let count = view.candidates.len();
    let each: Vec<WorkloadPrediction<'t>> = (0..count.min(CANDIDATES))
        .map(|index| {
            let context = facts.context.assuming_control_plane(index);
            let facts = context.pod_facts(facts.workload);
            predict_pod(&facts, facts.rewrite())
        })
        .collect();
    for (index, now) in prediction.handlers.iter_mut().enumerate() {
        let all: Vec<&HandlerPrediction<'t>> = each
            .iter()
            .filter_map(|prediction| prediction.handlers.get(index))
            .collect();
        let Some((first, rest)) = all.split_first() else {
            continue;
        };
        let outcome = first.verdict.outcome;
        if rest
            .iter()
            .any(|handler| handler.verdict.outcome != outcome)
        {
            assume(&mut now.verdict, &conflicts);
        } else if count <= CANDIDATES {
            *now = agreed(now, first, &all);
        }
    }
}

/// Returns the common prediction of all control planes, with the certainty of the least certain one.
fn agreed<'t>(
    now: &HandlerPrediction<'t>,
    first: &HandlerPrediction<'t>,
    all: &[&HandlerPrediction<'t>],
) -> HandlerPrediction<'t> {
    let same = all.iter().find(|handler| {
        handler.verdict.outcome == now.verdict.outcome && handler.verdict.cause == now.verdict.cause
    });
    // Mixed facts of several control planes may give a verdict that none of them gives. Then the
    // prediction of the first is used.
    let mut agreed = match same {
        Some(same) => HandlerPrediction {
            verdict: same.verdict.clone(),
            ..now.clone()
        },
        None => first.clone(),
    };
    let verdicts = all.iter().map(|handler| &handler.verdict);
    if let Some(least) = verdicts.min_by_key(|verdict| verdict.certainty)
        && least.certainty < agreed.verdict.certainty
    {
        agreed.verdict.certainty = least.certainty;
        add(&mut agreed.verdict, least.because.iter().cloned());
    }
    agreed
}

/// Marks a verdict as assumed, and adds the lines on which the control planes differ to its reasons.
fn assume(verdict: &mut Verdict, conflicts: &[Conflict]) {
    if verdict.certainty <= Certainty::Assumed {
        return;
    }
    verdict.certainty = Certainty::Assumed;
    for conflict in conflicts {
        let sides = conflict.sides.iter().map(|(value, place)| {
            let message = format!("{} = {value} here", conflict.key);
            Reason::written(Label {
                message,
                ..place.clone()
            })
        });
        add(verdict, sides);
    }
    let message = "equally near installations differ; the first is assumed";
    let settle = conflicts
        .first()
        .map(|conflict| settling_option(conflict.key));
    add(verdict, [Reason::without_place(message, settle)]);
}

fn add(verdict: &mut Verdict, reasons: impl IntoIterator<Item = Reason>) {
    for reason in reasons {
        if !verdict.because.contains(&reason) {
            verdict.because.push(reason);
        }
    }
}

/// Returns the option that settles a conflict and overrides the tree.
pub(in crate::predict) fn settling_option(key: &str) -> &'static str {
    match key {
        "mesh-version" => "--mesh-version 1.N",
        "revision" => "--override revision=NAME",
        "rewrite" => "--override rewrite=true|false",
        "root-namespace" => "--override root-namespace=NAME",
        "status-port" => "--override status-port=PORT",
        _ => "--override cni=true|false",
    }
}

/// What settles the assumption: the complete output of kustomize.
const SETTLE: &str = "kustomize build DIR | meshprobe predict -";

/// Adds the changes to the reasons of every handler, and lowers its certainty to assumed.
fn settle_unmodelled<'t>(
    context: &Context<'t>,
    workload: &Workload<'t>,
    prediction: &mut WorkloadPrediction<'t>,
) {
    let notes = context.origin_of(&workload.object).hidden_changes();
    let Some((first, others)) = notes.split_first() else {
        return;
    };
    let places = notes.iter().map(|note| {
        Reason::written(Label {
            path: Arc::clone(&note.path),
            span: note.span,
            message: note.message.clone(),
        })
    });
    let line = context.sources.file(&first.path);
    let line = line.map_or(1, |file| file.line_of(first.span));
    let more = match others.len() {
        0 => String::new(),
        count => format!(" and {count} more like this"),
    };
    let message = format!("{} ({}:{line}){more}", first.message, first.path);
    let reasons: Vec<Reason> = places
        .chain([Reason::without_place(message, Some(SETTLE))])
        .collect();
    for handler in &mut prediction.handlers {
        let verdict = &mut handler.verdict;
        verdict.certainty = verdict.certainty.min(Certainty::Assumed);
        verdict.because.extend(reasons.iter().cloned());
    }
}
