//! Would every handler keep its meaning?

use crate::context::Context;
use crate::kube::Action;
use crate::mesh::Fact;
use crate::predict::{self, HandlerPrediction, WorkloadPrediction, predict_with};

use super::Refusal;

/// The handlers that would not, each with its reason.
pub(super) fn hazards<'t>(
    context: &Context<'t>,
    pod: &WorkloadPrediction<'t>,
    wanted: &[&HandlerPrediction<'t>],
) -> Vec<Refusal> {
    let handlers = wanted.iter();
    let hazards = handlers.flat_map(|handler| {
        let all = predict::hazards(context, pod, handler).into_iter();
        all.map(move |hazard| (handler, hazard))
    });
    let mut refusals: Vec<Refusal> = hazards
        .map(|(handler, hazard)| {
            let span = if hazard.field.is_empty() {
                handler.handler.kind_span()
            } else {
                handler.handler.field_span(hazard.field)
            };
            let said = format!("{}: {}", handler.title(), hazard.message);
            Refusal::new(hazard.guard, span, said)
        })
        .collect();
    refusals.extend(wanted.iter().filter_map(|handler| lost_merge_key(handler)));
    refusals
}

/// A `tcpSocket` or `grpc` mapping is replaced as a whole, and with it what a merge key brings in.
fn lost_merge_key(prediction: &HandlerPrediction<'_>) -> Option<Refusal> {
    let handler = &prediction.handler;
    let Ok(action @ (Action::TcpSocket { .. } | Action::Grpc { .. })) = &handler.action else {
        return None;
    };
    let key = action.key();
    handler.node.get(key).filter(|node| node.has_merge_key())?;
    let message = format!(
        "{}: a merge key within `{key}` would be lost",
        prediction.title()
    );
    Some(Refusal::new(
        "unrecorded-field",
        handler.kind_span(),
        message,
    ))
}

/// While the release is unknown hooks stay as they are, and the opt-out keeps the mesh from
/// rewriting them. Where that would break one, nothing is written.
pub(super) fn spoiled_hooks<'t>(
    context: &Context<'t>,
    pod: &WorkloadPrediction<'t>,
) -> Vec<Refusal> {
    if pod.release.value.is_some() || !pod.rewrite.value {
        return Vec::new();
    }
    let off = Fact::settled(false, "the opt-out is written");
    let after = predict_with(context, &pod.workload, off);
    let hooks = after.handlers.iter().filter(|prediction| {
        prediction.handler.slot.is_lifecycle() && prediction.verdict.outcome.is_bad()
    });
    hooks
        .map(|hook| {
            let said = format!(
                "{} would no longer work: {}",
                hook.title(),
                hook.verdict.cause.describe()
            );
            let help = "say the release: from `--mesh-version 1.25` on hooks are rewritten too";
            Refusal::new("hooks-need-release", hook.handler.key.span(), said).with_help(help)
        })
        .collect()
}
