//! Plans the rewrite of all workloads, and of each pod.

use std::collections::{BTreeMap, BTreeSet};

use meshprobe_mesh::finding::{Certainty, Finding, GuardId, Refusal, Severity};
use meshprobe_mesh::kube::{ObjectId, ObjectKey, Workload};
use meshprobe_mesh::settings::FormChoice;
use meshprobe_predict::context::{Context, Dataplane};
use meshprobe_predict::predict::{HandlerPrediction, WorkloadPrediction};
use meshprobe_yaml::Change;

use crate::rewrite::form::RewriteForm;
use crate::rewrite::handlers::{self, kept, point_at_agent, prober, wanted};
use crate::rewrite::overlay::{self, OverlayResult, Overlays};
use crate::rewrite::plan::{
    Decision, Direction, GuardFailure, Plan, PodOutcome, RewriteInput, refuse,
};
use crate::rewrite::{guards, notes, preview};

/// Plans the rewrite of every target workload.
#[must_use]
pub fn plan(seen: &RewriteInput<'_, '_>) -> Plan {
    let mut plan = Plan::default();
    let overlays = Overlays::new(seen, plan.direction);
    // A file that several clusters deploy has one prediction per cluster, but is written once.
    let mut planned = BTreeSet::new();
    decide_not_given(&mut plan, seen);
    for (workload, refusal) in patch_refusals(seen.rendered) {
        plan.refuse(workload, refusal);
    }
    for prediction in seen.plain.iter().filter(|prediction| prediction.is_target) {
        let object = &prediction.workload.object;
        if !planned.insert((object.path(), object.document.index, &object.route)) {
            continue;
        }
        let outcome = match overlay::overlaid(prediction, &overlays) {
            OverlayResult::Plain => {
                let injected_as = (seen.context, &prediction.workload);
                rewrite_pod(seen.context, injected_as, prediction)
            }
            OverlayResult::CompatibleOverlay(agreed) => {
                let injected_as = (seen.overlaid, &agreed.rendered);
                rewrite_pod(seen.context, injected_as, &agreed.prediction)
            }
            OverlayResult::Refused(refusal) => {
                // An overlay may add handlers that the file does not contain.
                let is_due = |seen: &WorkloadPrediction<'_>| {
                    seen.dataplane.value == Dataplane::Sidecar
                        && !unrewritten_handlers(seen).is_empty()
                };
                let is_needed = needs_rewrite(prediction) || overlays.of(prediction).any(is_due);
                PodOutcome::left(is_needed.then(|| refusal.finding(prediction)))
            }
        };
        plan.add(prediction, outcome.changes, outcome.findings);
    }
    plan
}

/// Plans one pod. Pods that are not injected and pods with nothing to rewrite are skipped silently. `injected_as` is
/// the workload as it is injected, as a kustomization renders it, with the facts that apply there.
pub(super) fn rewrite_pod<'t>(
    context: &Context<'t>,
    injected_as: (&Context<'t>, &Workload<'t>),
    pod: &WorkloadPrediction<'t>,
) -> PodOutcome {
    let mut outcome = decide_pod(context, injected_as, pod);
    outcome.findings.extend(notes::several_meshes(pod));
    outcome
}

fn decide_pod<'t>(
    context: &Context<'t>,
    injected_as: (&Context<'t>, &Workload<'t>),
    pod: &WorkloadPrediction<'t>,
) -> PodOutcome {
    if let Some(outcome) = preview::rewrite(context, injected_as, pod) {
        return outcome;
    }
    let mut wanted = wanted(pod);
    let may_have_agent = matches!(
        pod.dataplane.value,
        Dataplane::Sidecar | Dataplane::Uncaptured | Dataplane::Unknown
    );
    if !may_have_agent {
        return PodOutcome::left(notes::outside(context, pod, &wanted));
    }
    // An opt-out together with a prober env comes from an earlier rewrite, which is extended.
    if !pod.rewrite.value && pod.prober_env.is_none() {
        return switched_off(context, pod, &wanted);
    }
    let choice = context.settings.form;
    let writing = RewriteForm::of(choice, context, pod);
    // Pod Security rejects a pod with a host, unless a webhook removes the host.
    let can_keep = writing.opts_out && context.forbids_hosts(&pod.workload).is_none();
    let kept = kept(pod, can_keep);
    wanted.retain(|handler| !kept.iter().any(|kept| std::ptr::eq(*kept, *handler)));
    let hosts_kept = notes::host_kept_notes(pod, &kept);
    match pod_changes(context, pod, &wanted, writing) {
        Ok(changes) if changes.is_empty() => {
            PodOutcome::left(hosts_kept.chain(notes::form_kept(choice, pod)))
        }
        Ok(changes) => {
            let mut findings = notes::of_rewritten(context, pod, &wanted, writing);
            findings.extend(hosts_kept);
            findings.extend(
                notes::form_kept(choice, pod).filter(|_| choice != FormChoice::Fixed(writing.form)),
            );
            PodOutcome { changes, findings }
        }
        Err(refusals) => PodOutcome::left(refusals.into_iter().map(|refusal| refusal.finding(pod))),
    }
}

/// Leaves a pod whose rewrite is off. A release that is not supported is refused if its default has switched it off:
/// the owner of the pod has not decided anything.
fn switched_off(
    context: &Context<'_>,
    pod: &WorkloadPrediction<'_>,
    wanted: &[&HandlerPrediction<'_>],
) -> PodOutcome {
    let is_default = pod.rewrite.certainty == Certainty::Default
        && pod.dataplane.value == Dataplane::Sidecar
        && !wanted.is_empty();
    match guards::release(context, pod).filter(|_| is_default) {
        Some(refusal) => PodOutcome::left([refusal.finding(pod)]),
        None => PodOutcome::left(notes::opt_out(pod, wanted)),
    }
}

/// Returns whether the pod contains handlers that a rewrite would change.
pub(super) fn needs_rewrite(pod: &WorkloadPrediction<'_>) -> bool {
    preview::needs_rewrite(pod).unwrap_or_else(|| !wanted(pod).is_empty())
}

/// Returns all changes of a pod, or every reason not to rewrite it.
fn pod_changes(
    context: &Context<'_>,
    pod: &WorkloadPrediction<'_>,
    wanted: &[&HandlerPrediction<'_>],
    writing: RewriteForm,
) -> Result<Vec<Change>, Vec<GuardFailure>> {
    let mut refusals: Vec<GuardFailure> = guards::unreadable_env(pod).into_iter().collect();
    refusals.extend(guards::fatal_entry(pod));
    if refusals.is_empty() && pod.dataplane.value == Dataplane::Sidecar {
        let handlers = pod.handlers.iter();
        refusals.extend(handlers.filter_map(|handler| guards::missing_entry(pod, handler)));
        refusals.extend(writing.loops(context, pod));
    }
    if !wanted.is_empty() {
        refusals.extend(guards::refusals(context, pod, wanted, writing));
    }
    if !refusals.is_empty() {
        return Err(refusals);
    }
    // A proxyless template switches off the rewrite itself.
    if wanted.is_empty() || pod.dataplane.value != Dataplane::Sidecar {
        return Ok(Vec::new());
    }
    let port = writing.port(context, pod);
    let mut changes = Vec::new();
    let mut probers = BTreeMap::new();
    for handler in wanted {
        // A guard has refused every handler without a prober.
        if let Ok((key, json)) = prober(handler) {
            probers.insert(key, json);
            changes.extend(point_at_agent(handler, port));
        }
    }
    changes.extend(
        writing
            .set_prober_env(pod, probers)
            .map_err(|refusal| vec![refusal])?,
    );
    Ok(changes)
}

/// Adds the decisions about these workloads to a plan. Those that a rewrite or an undo would change if their files were in
/// the given paths are refused.
pub(super) fn decide_not_given(plan: &mut Plan, seen: &RewriteInput<'_, '_>) {
    let not_given: BTreeSet<ObjectKey<'_>> = seen
        .plain
        .iter()
        .filter(|base| !base.is_target)
        .map(|base| base.workload.object.key())
        .collect();
    let direction = plan.direction;
    let mut refusals = BTreeMap::new();
    for deployed in seen.rendered.iter().filter(|pod| pod.is_target) {
        let object = &deployed.workload.object;
        if !not_given.contains(&object.key()) {
            continue;
        }
        if needs_change(deployed, direction) {
            refusals
                .entry(object.id())
                .or_insert_with(|| direction.finding(not_given_refusal(deployed), deployed));
        } else if is_opted_out(seen, deployed, direction) {
            plan.decisions.insert(object.id(), Decision::OptOut);
        } else {
            let decisions = &mut plan.decisions;
            decisions.entry(object.id()).or_insert(Decision::Nothing);
        }
    }
    for (workload, refusal) in refusals {
        plan.refuse(workload, refusal);
    }
}

fn needs_change(pod: &WorkloadPrediction<'_>, direction: Direction) -> bool {
    match direction {
        Direction::Rewrite => {
            preview::needs_rewrite(pod).unwrap_or_else(|| !unrewritten_handlers(pod).is_empty())
        }
        Direction::Undo => pod.is_prerewritten(),
    }
}

/// Returns whether the owner of a workload that needs no change has switched the rewrite off.
fn is_opted_out(
    seen: &RewriteInput<'_, '_>,
    pod: &WorkloadPrediction<'_>,
    direction: Direction,
) -> bool {
    let decision = || {
        let injected_as = (seen.overlaid, &pod.workload);
        let outcome = rewrite_pod(seen.overlaid, injected_as, pod);
        Decision::unchanged(&outcome.findings)
    };
    direction == Direction::Rewrite && decision() == Decision::OptOut
}

fn not_given_refusal(pod: &WorkloadPrediction<'_>) -> GuardFailure {
    let path = pod.workload.object.path();
    let message = format!("`{path}` is not in the given paths, and is only read as context");
    refuse(
        GuardId::CONTEXT_ONLY,
        pod.workload.object.name_span(),
        message,
    )
    .with_help(format!("to edit it, add `{path}` to the paths"))
}

/// Refuses the workloads that are checked as manifests although a kustomization uses their file as a patch.
pub(super) fn patch_refusals(rendered: &[WorkloadPrediction<'_>]) -> Vec<(ObjectId, Finding)> {
    rendered
        .iter()
        .filter(|prediction| {
            let object = &prediction.workload.object;
            object.document.patch
                && object.rendered_by.is_none()
                && !unrewritten_handlers(prediction).is_empty()
        })
        .map(|prediction| {
            let object = &prediction.workload.object;
            let message = "a kustomization uses its file as a patch";
            let refusal = refuse(GuardId::KUSTOMIZE_PATCH, object.name_span(), message).with_help(
                "rewrite what the overlay builds: `kustomize build DIR | meshprobe rewrite \
                         --context . -`; or remove the file from the patches of the kustomization",
            );
            (object.id(), refusal.finding(prediction))
        })
        .collect()
}

/// Removes pods that are only assumed to be created from a template of an operator's object. Returns their objects, with
/// a warning for each that contains a part of a rewrite or that a rewrite would change.
///
/// The operator may overwrite the probes, and may drop the annotation or the env that a rewrite adds. A pod with
/// rewritten probes and without a prober env never becomes ready.
pub fn remove_unknown_kinds(
    pods: &mut Vec<WorkloadPrediction<'_>>,
) -> BTreeMap<ObjectId, Option<Finding>> {
    let mut removed = BTreeMap::new();
    pods.retain(|pod| {
        let is_known = !pod.workload.template.placement.is_assumed();
        if !is_known && pod.is_target {
            let warning = removed.entry(pod.workload.object.id()).or_insert(None);
            if warning.is_none() && (needs_rewrite(pod) || pod.is_prerewritten()) {
                *warning = Some(unknown_kind_finding(pod));
            }
        }
        is_known
    });
    removed
}

fn unknown_kind_finding(pod: &WorkloadPrediction<'_>) -> Finding {
    let object = &pod.workload.object;
    let id = (GuardId::UNKNOWN_KIND, Severity::Warning);
    let mut finding = Finding::on_object(object, object.name_span(), id, String::new());
    finding.set_refusal(Refusal {
        start: format!("{} is not edited: ", pod.workload.title()),
        reason: "an operator creates its pods, and may change the result of a rewrite".to_owned(),
    });
    finding.help = Some(
        "leave its probes to the injector, which rewrites the pods that the operator creates"
            .to_owned(),
    );
    finding
}

/// Returns the handlers that the mesh rewrites at admission and that are not pre-rewritten. A pod that is not injected
/// or that opted out has none. If the tree does not show whether a pod is injected, its handlers are included, because
/// nothing proves that they need no rewrite.
#[must_use]
pub fn unrewritten_handlers<'a, 't>(
    pod: &'a WorkloadPrediction<'t>,
) -> Vec<&'a HandlerPrediction<'t>> {
    let opted_out = !pod.rewrite.value && pod.prober_env.is_none();
    let may_be_injected = matches!(pod.dataplane.value, Dataplane::Sidecar | Dataplane::Unknown);
    if !may_be_injected || opted_out || !pod.is_target {
        return Vec::new();
    }
    handlers::wanted(pod)
}
