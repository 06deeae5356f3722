//! The way out that several rules share: leave the pod's probes as they are written.

use crate::finding::{Applicability, Finding};
use crate::mesh::Fact;
use crate::mesh::istio::keys;
use crate::predict::{WorkloadPrediction, predict_with};
use crate::yaml::{Change, Value};

use super::{Scene, scene};

/// Gives a finding the fix that switches the rewrite off for the pods of its workload; where that
/// would spoil another handler, or the pod was rewritten ahead, it is only shown.
pub(super) fn offer(scene: &Scene<'_, '_>, pod: &WorkloadPrediction<'_>, finding: &mut Finding) {
    let applicability = if spoiled(scene, pod).is_some() || pod.is_rewritten_ahead() {
        Applicability::DisplayOnly
    } else {
        Applicability::Unsafe
    };
    let title = format!(
        "set `{}` to \"false\": the mesh then leaves the probes and hooks of the pod as they are",
        keys::REWRITE_PROBERS
    );
    let change = Change::Set {
        route: pod
            .workload
            .template
            .annotation_route(keys::REWRITE_PROBERS),
        value: Value::from("false"),
    };
    let object = &pod.workload.object;
    finding.fix = Some(scene::fix(object, title, applicability, vec![change]));
}

/// Has a fix that makes a written "false" count only shown where a handler does not bear it: the
/// next finding would be cured by the opposite.
pub(super) fn show_where_it_spoils(
    scene: &Scene<'_, '_>,
    pod: &WorkloadPrediction<'_>,
    finding: &mut Finding,
) {
    if let (Some(title), Some(fix)) = (spoiled(scene, pod), finding.fix.as_mut()) {
        fix.applicability = Applicability::DisplayOnly;
        finding.help = Some(format!(
            "decide what is meant: without the rewrite {title} does not do its work"
        ));
    }
}

/// Returns the first handler that does not do its work while the rewrite is off.
fn spoiled(scene: &Scene<'_, '_>, pod: &WorkloadPrediction<'_>) -> Option<String> {
    let off = Fact::settled(false, "the rewrite is off");
    let after = predict_with(scene.context, &pod.workload, off);
    let mut handlers = after.handlers.iter();
    let spoiled = handlers.find(|handler| handler.verdict.outcome.is_bad());
    spoiled.map(|handler| handler.title())
}
