//! Plans the undo of all workloads.

use std::collections::BTreeSet;

use meshprobe_mesh::finding::{Certainty, Finding, GuardId, Severity};
use meshprobe_mesh::kube::Workload;
use meshprobe_mesh::mesh::Fact;
use meshprobe_mesh::mesh::istio::rewrite::OLDEST_REWRITE;
use meshprobe_predict::context::Context;
use meshprobe_predict::predict::WorkloadPrediction;
use meshprobe_yaml::Change;

use crate::rewrite::guard::failure::GuardFailure;
use crate::rewrite::overlay::Overlays;
use crate::rewrite::plan::{Direction, Plan, RewriteInput, refused};
use crate::rewrite::undo::carrier::Carrier;
use crate::rewrite::undo::{handler, patch};
use crate::rewrite::{guard, not_given, overlay};

/// Plans the undo for every target workload: handlers become what the prober env of their pod records, and the carrier
/// of the env is removed.
#[must_use]
pub fn undo(seen: &RewriteInput<'_, '_>) -> Plan {
    let mut plan = Plan {
        direction: Direction::Undo,
        ..Plan::default()
    };
    let overlays = Overlays::new(seen, plan.direction);
    let mut planned = BTreeSet::new();
    for pod in seen.plain.iter().filter(|pod| pod.is_target) {
        let object = &pod.workload.object;
        if !planned.insert((object.path(), object.document.index, &object.route)) {
            continue;
        }
        match undone(seen.context, pod, &overlays) {
            Ok(None) => plan.add(pod, Vec::new(), Vec::new()),
            Ok(Some(Undone { changes, remarks })) => {
                let notes = notes(pod, &remarks);
                plan.add(pod, changes, notes);
            }
            Err(refusal) => plan.refuse(object.id(), refused(refusal, pod)),
        }
    }
    not_given::decide(&mut plan, seen);
    for (workload, refusal) in patch::refusals(seen.context.sources) {
        plan.refuse(workload, refusal);
    }
    plan
}

/// The undo of one pod.
pub(in crate::rewrite) struct Undone {
    pub(in crate::rewrite) changes: Vec<Change>,
    /// The values that are not restored literally, in sentences.
    pub(in crate::rewrite) remarks: Vec<String>,
}

/// Undoes the rewrite of one pod; returns `None` if the pod is not pre-rewritten.
pub(in crate::rewrite) fn undone<'t>(
    context: &Context<'t>,
    pod: &WorkloadPrediction<'t>,
    overlays: &Overlays<'_, 't>,
) -> Result<Option<Undone>, GuardFailure> {
    let carriers = Carrier::all_of(&pod.workload);
    if carriers.is_empty() && !pod.handlers.iter().any(handler::targets_agent) {
        return Ok(None);
    }
    if pod.workload.object.document.encrypted {
        let message = "the document is encrypted with SOPS, and an edit would break its checksum";
        let refusal = GuardFailure::new(GuardId::SOPS, pod.workload.object.name_span(), message);
        return Err(refusal.with_help("decrypt it, undo the rewrite, and encrypt it again"));
    }
    if let Some(refusal) = guard::ambiguous(context, pod) {
        return Err(refusal);
    }
    if let Some(refusal) = overlay::undo_refusal(pod, overlays) {
        return Err(refusal);
    }
    if let [_, second, ..] = carriers.as_slice() {
        let message = "it contains two prober envs, and only one of them reaches the sidecar";
        return Err(GuardFailure::new(
            GuardId::PROBER_ENV_CONFLICT,
            second.span(),
            message,
        ));
    }
    if let Some(refusal) = guard::unreadable_env(pod) {
        return Err(refusal);
    }
    let mut changes = Vec::new();
    let mut remarks = Vec::new();
    let mut targeted = BTreeSet::new();
    for prediction in pod
        .handlers
        .iter()
        .filter(|handler| handler::targets_agent(handler))
    {
        if let Some(lost) = guard::missing_entry(pod, prediction) {
            return Err(lost);
        }
        let restored = handler::restored(pod, prediction)?;
        changes.extend(restored.changes);
        remarks.extend(restored.remarks);
        targeted.insert(restored.entry);
    }
    let env = pod.prober_env.as_ref();
    let probers = env.and_then(|env| env.probers.as_ref().ok());
    let untargeted = probers
        .into_iter()
        .flat_map(|probers| probers.keys())
        .filter(|key| !targeted.contains(*key));
    remarks
        .extend(untargeted.map(|key| format!("`{key}` is dropped, because no probe targets it")));
    for carrier in &carriers {
        let by_default = rewrite_default(context, &pod.workload);
        let (removed, left) = carrier.removed(&pod.workload, &by_default)?;
        changes.extend(removed);
        remarks.extend(left);
    }
    Ok(Some(Undone { changes, remarks }))
}

/// Returns whether the mesh rewrites probes by default. A release before the oldest supported one, which the image of a
/// partial container may name, is ignored, because the pod was rewritten.
pub(in crate::rewrite) fn rewrite_default<'t>(
    context: &Context<'t>,
    workload: &Workload<'t>,
) -> Fact<bool> {
    let fact = context.istio(workload).rewriting().mesh_default();
    let release = context.istio(workload).version().value;
    let is_older = release.is_some_and(|release| release < OLDEST_REWRITE);
    if is_older && fact.certainty <= Certainty::Default {
        return Fact {
            value: true,
            ..fact
        };
    }
    fact
}

/// Returns the notes about a pod that was restored.
pub(in crate::rewrite) fn notes(pod: &WorkloadPrediction<'_>, remarks: &[String]) -> Vec<Finding> {
    let object = &pod.workload.object;
    let title = pod.workload.title();
    let note = |id, message: String| {
        let label = object.label_at(object.name_span(), String::new());
        let mut finding = Finding::new(id, Severity::Note, label, message);
        finding.document = object.document.index;
        finding.object = Some(object.reference());
        finding
    };
    let mut notes = Vec::new();
    if object.kind == "Job" {
        let message =
            format!("the pod template of a Job is immutable: delete an existing {title} first");
        notes.push(note(GuardId::JOB_IMMUTABLE, message));
    }
    if !remarks.is_empty() {
        let message = format!(
            "{title} behaves as before, but is not restored literally: {}",
            remarks.join("; ")
        );
        notes.push(note(GuardId::UNDO_NOT_LITERAL, message));
    }
    notes
}
