//! One pod: which handlers are pointed at the agent, and the changes that do it.

use std::collections::BTreeMap;

use crate::context::{Context, Dataplane};
use crate::finding::Finding;
use crate::kube::Workload;
use crate::predict::{HandlerPrediction, WorkloadPrediction};
use crate::yaml::Change;

use super::form::Writing;
use super::guard::{self, Refusal};
use super::handlers::{point_at_agent, prober, wanted};
use super::{notes, preview};

/// What comes of one pod.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub(super) changes: Vec<Change>,
    pub(super) findings: Vec<Finding>,
}

impl Outcome {
    pub(super) fn left(findings: impl IntoIterator<Item = Finding>) -> Self {
        Self {
            changes: Vec::new(),
            findings: findings.into_iter().collect(),
        }
    }
}

/// Plans one pod. Pods that are not injected, and pods with nothing to rewrite, are left alone
/// without a word. `there` is where the pod is injected: what a kustomization makes of it, with the
/// facts beside it.
pub(super) fn rewrite<'t>(
    context: &Context<'t>,
    there: (&Context<'t>, &Workload<'t>),
    pod: &WorkloadPrediction<'t>,
) -> Outcome {
    if let Some(outcome) = preview::rewrite(context, there, pod) {
        return outcome;
    }
    let wanted = wanted(pod);
    let may_have_agent = matches!(
        pod.dataplane.value,
        Dataplane::Sidecar | Dataplane::Uncaptured | Dataplane::Unknown
    );
    if !may_have_agent {
        return Outcome::left(notes::outside(context, pod, &wanted));
    }
    // The opt-out beside a prober env is a rewrite written down earlier: it is extended.
    if !pod.rewrite.value && pod.prober_env.is_none() {
        return Outcome::left(notes::opt_out(pod, &wanted));
    }
    let asked = context.settings.form;
    let writing = Writing::of(asked, pod);
    match plan(context, pod, &wanted, writing) {
        Ok(changes) if changes.is_empty() => Outcome::left(notes::form_kept(asked, pod)),
        Ok(changes) => {
            let mut findings = notes::of_rewritten(pod, &wanted, writing);
            if writing.form != asked {
                findings.extend(notes::form_kept(asked, pod));
            }
            Outcome { changes, findings }
        }
        Err(refusals) => Outcome::left(refusals.into_iter().map(|one| one.finding(pod))),
    }
}

/// Tells whether the pod holds handlers that a rewrite would change.
pub(super) fn has_work(pod: &WorkloadPrediction<'_>) -> bool {
    preview::has_work(pod).unwrap_or_else(|| !wanted(pod).is_empty())
}

/// All or nothing: everything that speaks against it is named.
fn plan(
    context: &Context<'_>,
    pod: &WorkloadPrediction<'_>,
    wanted: &[&HandlerPrediction<'_>],
    writing: Writing,
) -> Result<Vec<Change>, Vec<Refusal>> {
    let mut refusals: Vec<Refusal> = guard::unreadable_env(pod).into_iter().collect();
    refusals.extend(guard::deadly_entry(pod));
    if refusals.is_empty() && pod.dataplane.value == Dataplane::Sidecar {
        let handlers = pod.handlers.iter();
        refusals.extend(handlers.filter_map(|handler| guard::lost_entry(pod, handler)));
        refusals.extend(writing.loops(context, pod));
    }
    if !wanted.is_empty() {
        refusals.extend(guard::refusals(context, pod, wanted, writing));
    }
    if !refusals.is_empty() {
        return Err(refusals);
    }
    // A proxyless template switches the rewrite off itself.
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
            .carry(pod, probers)
            .map_err(|refusal| vec![refusal])?,
    );
    Ok(changes)
}
