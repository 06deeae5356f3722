//! The way back: from a prober env in the manifest to the probes that it records.
//!
//! Read from what stands in the pod; of the mesh only counts whether it rewrites by default. All or
//! nothing per pod.

mod carrier;
mod comment;
mod handler;
mod leaving;
mod patch;

use std::collections::BTreeSet;

use crate::context::Context;
use crate::finding::{Certainty, Finding, Severity};
use crate::kube::Workload;
use crate::mesh::Fact;
use crate::mesh::istio::rewrite::OLDEST_REWRITE;
use crate::predict::WorkloadPrediction;
use crate::yaml::Change;

use super::guard::{self, Refusal};
use super::overlay::{self, Overlays};
use super::{Direction, Plan, Seen};

use carrier::Carrier;

/// The note about what is not as it was before the rewrite.
const NOT_LITERAL: &str = "undo-not-literal";

/// Plans the way back for every workload that is to be reported on: handlers become what the
/// prober env of their pod records, and what carried the env goes.
#[must_use]
pub(crate) fn undo(seen: &Seen<'_, '_>) -> Plan {
    let mut plan = Plan {
        direction: Direction::Back,
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
            Ok(None) => {}
            Ok(Some(Undone { changes, remarks })) => {
                let notes = notes(pod, &remarks);
                plan.add(pod, changes, notes);
            }
            Err(refusal) => plan.findings.push(refused(refusal, pod)),
        }
    }
    plan.findings.extend(patch::refusals(seen.context.sources));
    plan
}

/// Counts the prober envs of a pod.
pub(super) fn carriers(workload: &Workload<'_>) -> usize {
    Carrier::all_of(workload).len()
}

/// What comes of one pod.
struct Undone {
    changes: Vec<Change>,
    /// What could not be restored to the letter, in sentences.
    remarks: Vec<String>,
}

/// `None` where the pod was not rewritten ahead.
fn undone<'t>(
    context: &Context<'t>,
    pod: &WorkloadPrediction<'t>,
    overlays: &Overlays<'_, 't>,
) -> Result<Option<Undone>, Refusal> {
    let carriers = Carrier::all_of(&pod.workload);
    if carriers.is_empty() && !pod.handlers.iter().any(handler::asks_agent) {
        return Ok(None);
    }
    if pod.workload.object.document.encrypted {
        let said = "the document is encrypted with SOPS, whose checksum an edit would break";
        let refusal = Refusal::new("sops", pod.workload.object.name_span(), said);
        return Err(refusal.with_help("decrypt it, undo the rewrite, and encrypt it again"));
    }
    if let Some(refusal) = guard::ambiguous(context, pod) {
        return Err(refusal);
    }
    if let Some(refusal) = overlay::differing(pod, overlays) {
        return Err(refusal);
    }
    if let [_, second, ..] = carriers.as_slice() {
        let said = "it holds two prober envs, and only one of them reaches the sidecar";
        return Err(Refusal::new("prober-env-conflict", second.span(), said));
    }
    if let Some(refusal) = guard::unreadable_env(pod) {
        return Err(refusal);
    }
    let mut changes = Vec::new();
    let mut remarks = Vec::new();
    let mut asked = BTreeSet::new();
    for prediction in pod.handlers.iter().filter(|one| handler::asks_agent(one)) {
        if let Some(lost) = guard::lost_entry(pod, prediction) {
            return Err(lost);
        }
        let restored = handler::restored(pod, prediction)?;
        changes.extend(restored.changes);
        remarks.extend(restored.remarks);
        asked.insert(restored.entry);
    }
    let env = pod.prober_env.as_ref();
    let probers = env.and_then(|env| env.probers.as_ref().ok());
    let unasked = probers
        .into_iter()
        .flat_map(|probers| probers.keys())
        .filter(|key| !asked.contains(*key));
    remarks.extend(unasked.map(|key| format!("no probe asks for {key}, which is dropped")));
    for carrier in &carriers {
        let by_default = rewrite_default(context, &pod.workload);
        let (removed, left) = carrier.removed(&pod.workload, &by_default)?;
        changes.extend(removed);
        remarks.extend(left);
    }
    Ok(Some(Undone { changes, remarks }))
}

/// Tells whether the mesh rewrites probes by default. An older release than the oldest one that is
/// rewritten for, as the image of a partial container may name it, says nothing about a pod that was rewritten.
fn rewrite_default<'t>(context: &Context<'t>, workload: &Workload<'t>) -> Fact<bool> {
    let fact = context.rewrite_default(workload);
    let release = context.version(workload).value;
    let is_older = release.is_some_and(|release| release < OLDEST_REWRITE);
    if is_older && fact.certainty <= Certainty::Default {
        return Fact {
            value: true,
            ..fact
        };
    }
    fact
}

pub(super) fn refused(refusal: Refusal, pod: &WorkloadPrediction<'_>) -> Finding {
    let title = pod.workload.title();
    let message = format!("the rewrite of {title} is not undone: {}", refusal.message);
    Finding {
        message,
        ..refusal.finding(pod)
    }
}

/// What the user should know about a pod that was restored.
fn notes(pod: &WorkloadPrediction<'_>, remarks: &[String]) -> Vec<Finding> {
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
        let said = format!(
            "the pod template of a Job is immutable: an existing {title} has to be deleted first"
        );
        notes.push(note("job-immutable", said));
    }
    if !remarks.is_empty() {
        let said = format!(
            "{title} means what it did before, but not to the letter: {}",
            remarks.join("; ")
        );
        notes.push(note(NOT_LITERAL, said));
    }
    notes
}
