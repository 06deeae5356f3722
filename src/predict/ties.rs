//! Control planes that are equally near and differ: each is taken in turn.
//!
//! What they differ on often does not matter to a probe; only where it does, the outcome rests on
//! an assumption.

use crate::context::{Conflict, Context};
use crate::finding::{Certainty, Label};
use crate::kube::Workload;
use crate::mesh::Reason;

use super::{HandlerPrediction, Verdict, WorkloadPrediction, predict_with};

/// How many are taken in turn; where there are more, what the first says is assumed.
pub(super) const CANDIDATES: usize = 4;

/// Replaces the verdicts that hold whichever control plane serves.
pub(super) fn settle<'t>(
    context: &Context<'t>,
    workload: &Workload<'t>,
    prediction: &mut WorkloadPrediction<'t>,
) {
    let view = context.install(workload);
    let conflicts = view.conflicts();
    if conflicts.is_empty() {
        return;
    }
    let count = view.candidates.len();
    let each: Vec<WorkloadPrediction<'t>> = (0..count.min(CANDIDATES))
        .map(|index| {
            let context = context.served_by(index);
            predict_with(&context, workload, context.rewrite(workload))
        })
        .collect();
    for (index, now) in prediction.handlers.iter_mut().enumerate() {
        let all: Vec<&HandlerPrediction<'t>> = each
            .iter()
            .filter_map(|one| one.handlers.get(index))
            .collect();
        let Some((first, rest)) = all.split_first() else {
            continue;
        };
        let outcome = first.verdict.outcome;
        if rest.iter().any(|one| one.verdict.outcome != outcome) {
            assume(&mut now.verdict, &conflicts);
        } else if count <= CANDIDATES {
            *now = agreed(now, first, &all);
        }
    }
}

/// All lead to the same: as sure as the least certain of them.
fn agreed<'t>(
    now: &HandlerPrediction<'t>,
    first: &HandlerPrediction<'t>,
    all: &[&HandlerPrediction<'t>],
) -> HandlerPrediction<'t> {
    let same = all.iter().find(|one| {
        one.verdict.outcome == now.verdict.outcome && one.verdict.cause == now.verdict.cause
    });
    // Facts of several may add up to what none of them does: then the first one holds as it is.
    let mut agreed = match same {
        Some(same) => HandlerPrediction {
            verdict: same.verdict.clone(),
            ..now.clone()
        },
        None => first.clone(),
    };
    let verdicts = all.iter().map(|one| &one.verdict);
    if let Some(least) = verdicts.min_by_key(|verdict| verdict.certainty)
        && least.certainty < agreed.verdict.certainty
    {
        agreed.verdict.certainty = least.certainty;
        add(&mut agreed.verdict, least.because.iter().cloned());
    }
    agreed
}

/// They lead to different things: the lines on which they differ are among the reasons.
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
    let said = "installations that are equally near differ; the first was taken";
    let settle = conflicts.first().map(|conflict| settle_by(conflict.key));
    add(verdict, [Reason::said(said, settle)]);
}

fn add(verdict: &mut Verdict, reasons: impl IntoIterator<Item = Reason>) {
    for reason in reasons {
        if !verdict.because.contains(&reason) {
            verdict.because.push(reason);
        }
    }
}

/// The option that settles a conflict whatever the tree says.
pub(super) fn settle_by(key: &str) -> &'static str {
    match key {
        "mesh-version" => "--mesh-version 1.N",
        "revision" => "--override revision=NAME",
        "rewrite" => "--override rewrite=true|false",
        "root-namespace" => "--override root-namespace=NAME",
        "status-port" => "--override status-port=PORT",
        _ => "--override cni=true|false",
    }
}
