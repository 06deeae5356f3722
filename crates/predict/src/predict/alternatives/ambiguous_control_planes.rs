//! Compares the predictions for several equally near control planes.
//!
//! Their differences often do not matter to a probe. Only if they do, the outcome is an assumption.

use meshprobe_mesh::finding::{Certainty, Label};
use meshprobe_mesh::kube::Workload;
use meshprobe_mesh::mesh::Reason;

use crate::context::{Conflict, Context};
use crate::predict::prediction::{HandlerPrediction, Verdict, WorkloadPrediction};
use crate::predict::single::predict_with;

/// How many control planes are compared. If there are more, the first is assumed.
pub(in crate::predict) const CANDIDATES: usize = 4;

/// Replaces verdicts that are the same for all control planes, and marks the others as assumed.
pub(in crate::predict) fn settle<'t>(
    context: &Context<'t>,
    workload: &Workload<'t>,
    prediction: &mut WorkloadPrediction<'t>,
) {
    let view = context.istio(workload).installation();
    let conflicts = view.conflicts();
    if conflicts.is_empty() {
        return;
    }
    let count = view.candidates.len();
    let each: Vec<WorkloadPrediction<'t>> = (0..count.min(CANDIDATES))
        .map(|index| {
            let context = context.assuming_control_plane(index);
            predict_with(
                &context,
                workload,
                context.istio(workload).rewriting().is_on(),
            )
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
