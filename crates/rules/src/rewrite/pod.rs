//! Plans one pod: which handlers target the agent afterwards, and the changes that achieve it.

use std::collections::BTreeMap;

use meshprobe_mesh::finding::Certainty;
use meshprobe_mesh::kube::Workload;
use meshprobe_mesh::settings::FormChoice;
use meshprobe_predict::context::{Context, Dataplane};
use meshprobe_predict::predict::{HandlerPrediction, WorkloadPrediction};
use meshprobe_yaml::Change;

use crate::rewrite::form::rewrite_form::RewriteForm;
use crate::rewrite::guard::failure::GuardFailure;
use crate::rewrite::handlers::{kept, point_at_agent, prober, wanted};
use crate::rewrite::pod_outcome::PodOutcome;
use crate::rewrite::{guard, host_kept, notes, preview, rival_meshes};

/// Plans one pod. Pods that are not injected and pods with nothing to rewrite are skipped silently. `injected_as` is
/// the workload as it is injected, as a kustomization renders it, with the facts that apply there.
pub(super) fn rewrite<'t>(
    context: &Context<'t>,
    injected_as: (&Context<'t>, &Workload<'t>),
    pod: &WorkloadPrediction<'t>,
) -> PodOutcome {
    let mut outcome = decide(context, injected_as, pod);
    outcome.findings.extend(rival_meshes::several_meshes(pod));
    outcome
}

fn decide<'t>(
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
    let hosts_kept = host_kept::notes(pod, &kept);
    match plan(context, pod, &wanted, writing) {
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
    match guard::release(context, pod).filter(|_| is_default) {
        Some(refusal) => PodOutcome::left([refusal.finding(pod)]),
        None => PodOutcome::left(notes::opt_out(pod, wanted)),
    }
}

/// Returns whether the pod contains handlers that a rewrite would change.
pub(super) fn needs_rewrite(pod: &WorkloadPrediction<'_>) -> bool {
    preview::needs_rewrite(pod).unwrap_or_else(|| !wanted(pod).is_empty())
}

/// Returns all changes of a pod, or every reason not to rewrite it.
fn plan(
    context: &Context<'_>,
    pod: &WorkloadPrediction<'_>,
    wanted: &[&HandlerPrediction<'_>],
    writing: RewriteForm,
) -> Result<Vec<Change>, Vec<GuardFailure>> {
    let mut refusals: Vec<GuardFailure> = guard::unreadable_env(pod).into_iter().collect();
    refusals.extend(guard::fatal_entry(pod));
    if refusals.is_empty() && pod.dataplane.value == Dataplane::Sidecar {
        let handlers = pod.handlers.iter();
        refusals.extend(handlers.filter_map(|handler| guard::missing_entry(pod, handler)));
        refusals.extend(writing.loops(context, pod));
    }
    if !wanted.is_empty() {
        refusals.extend(guard::refusals(context, pod, wanted, writing));
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
