//! Guards of handlers: a rewrite must not change what a handler checks.

use meshprobe_mesh::finding::GuardId;
use meshprobe_mesh::kube::ProbeHandler;
use meshprobe_mesh::mesh::Fact;
use meshprobe_predict::context::Context;
use meshprobe_predict::predict::{
    self, HandlerPrediction, RewriteBlocker, WorkloadPrediction, predict_with,
};

use crate::rewrite::form::rewrite_form::RewriteForm;
use crate::rewrite::guard::failure::GuardFailure;

/// Returns a refusal for each reason why a rewrite would change the meaning of handlers, with all of these handlers.
pub(super) fn rewrite_blockers<'t>(
    context: &Context<'t>,
    pod: &WorkloadPrediction<'t>,
    wanted: &[&HandlerPrediction<'t>],
    writing: RewriteForm,
) -> Vec<GuardFailure> {
    let mut reasons: Vec<(RewriteBlocker, Vec<&HandlerPrediction<'t>>)> = Vec::new();
    for handler in wanted {
        for blocker in predict::rewrite_blockers(context, pod, handler) {
            match reasons.iter_mut().find(|(known, _)| *known == blocker) {
                Some((_, handlers)) => handlers.push(handler),
                None => reasons.push((blocker, vec![handler])),
            }
        }
    }
    let mut refusals: Vec<GuardFailure> = reasons
        .into_iter()
        .filter_map(|(blocker, handlers)| refusal(blocker, &handlers, writing))
        .collect();
    refusals.extend(wanted.iter().filter_map(|handler| lost_merge_key(handler)));
    refusals
}

/// Returns the refusal of a reason at the first of its handlers; `None` without handlers.
fn refusal(
    blocker: RewriteBlocker,
    handlers: &[&HandlerPrediction<'_>],
    writing: RewriteForm,
) -> Option<GuardFailure> {
    let first = &handlers.first()?.handler;
    let span = if blocker.field.is_empty() {
        first.kind_span()
    } else {
        first.field_span(blocker.field)
    };
    let titles: Vec<String> = handlers.iter().map(|handler| handler.title()).collect();
    let message = format!("{}: {}", titles.join(", "), blocker.message);
    let failure = GuardFailure::new(blocker.guard, span, message);
    if blocker.guard == GuardId::PROBE_HOST && !writing.opts_out {
        let help = "the other forms rewrite only the other probes of the pod";
        return Some(failure.with_help(help));
    }
    Some(failure)
}

/// Refuses a `tcpSocket` or `grpc` mapping with a merge key: the mapping is replaced as a whole, which would lose the
/// fields of the merge key.
fn lost_merge_key(prediction: &HandlerPrediction<'_>) -> Option<GuardFailure> {
    let handler = &prediction.handler;
    let Ok(action @ (ProbeHandler::TcpSocket { .. } | ProbeHandler::Grpc { .. })) = &handler.action
    else {
        return None;
    };
    let key = action.key();
    handler.node.get(key).filter(|node| node.has_merge_key())?;
    let message = format!(
        "{}: a merge key within `{key}` would be lost",
        prediction.title()
    );
    Some(GuardFailure::new(
        GuardId::UNRECORDED_FIELD,
        handler.kind_span(),
        message,
    ))
}

/// Refuses hooks that the opt-out would break. While the release is unknown, hooks are not rewritten, and the opt-out
/// prevents the mesh from rewriting them.
pub(super) fn broken_hooks<'t>(
    context: &Context<'t>,
    pod: &WorkloadPrediction<'t>,
) -> Vec<GuardFailure> {
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
            let message = format!(
                "{} would no longer work: {}",
                hook.title(),
                hook.verdict.cause.describe()
            );
            let help =
                "set the release with `--mesh-version`: from 1.25 on, hooks are rewritten too";
            GuardFailure::new(
                GuardId::HOOKS_NEED_RELEASE,
                hook.handler.key.span(),
                message,
            )
            .with_help(help)
        })
        .collect()
}
