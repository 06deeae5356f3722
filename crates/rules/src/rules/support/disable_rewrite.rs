//! The fix that turns the probe rewrite off for the pods of a workload.

use meshprobe_mesh::finding::{Applicability, Finding, Fix};
use meshprobe_mesh::mesh::Fact;
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_predict::predict::{HandlerPrediction, WorkloadPrediction, predict_with};
use meshprobe_yaml::Change;

use crate::rules::RuleContext;
use crate::rules::support::fix_safety;

/// Adds the fix that turns the rewrite off for the pods of its workload to a finding. The fix is only
/// displayed if it would break another handler, or if the pod is pre-rewritten.
pub(in crate::rules) fn add_fix(
    cx: &RuleContext<'_, '_>,
    pod: &WorkloadPrediction<'_>,
    finding: &mut Finding,
) {
    let applicability = if let Some(title) = broken_handler(cx, pod) {
        Applicability::display_only_because(format!("{title} fails without the rewrite"))
    } else if pod.is_prerewritten() {
        Applicability::display_only_because(fix_safety::PRE_REWRITTEN)
    } else {
        Applicability::unsafe_because("it applies to all probes and hooks of the pod")
    };
    let title = format!(
        "set `{}` to \"false\": the mesh then does not rewrite the probes and hooks of the pod",
        keys::REWRITE_PROBERS
    );
    let change = Change::set(
        pod.workload
            .template
            .annotation_route(keys::REWRITE_PROBERS),
        "false",
    );
    let object = &pod.workload.object;
    finding.fix = Some(Fix::of_object(object, title, applicability, vec![change]));
}

/// Makes a fix display-only if it would give effect to a written "false" and thereby break a handler: the fix
/// of the next finding would do the opposite.
pub(in crate::rules) fn demote_if_handlers_break(
    cx: &RuleContext<'_, '_>,
    pod: &WorkloadPrediction<'_>,
    finding: &mut Finding,
) {
    if let (Some(title), Some(fix)) = (broken_handler(cx, pod), finding.fix.as_mut()) {
        fix.limit_to(Applicability::display_only_because(format!(
            "{title} fails without the rewrite"
        )));
        finding.help = Some("decide which setting is intended".to_owned());
    }
}

/// Returns the title of the first handler that does not work while the rewrite is off.
fn broken_handler(cx: &RuleContext<'_, '_>, pod: &WorkloadPrediction<'_>) -> Option<String> {
    let off = Fact::settled(false, "the rewrite is off");
    let after = predict_with(cx.context, &pod.workload, off);
    after
        .handlers
        .iter()
        .find(|handler| handler.verdict.outcome.is_bad())
        .map(HandlerPrediction::title)
}
