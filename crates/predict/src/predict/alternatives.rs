//! Alternatives: predictions under other values of facts that are not settled.
//!
//! Rules report only alternatives with evidence in the tree: a conflicting policy, a value that another
//! tool fills in, an installation that could be read only in part, or several equally near
//! installations. There is no evidence for mutual TLS that no policy requires. Since the policy of the
//! whole mesh is often in another repository, explanations contain this alternative too. A namespace
//! that may not be injected is not an alternative: if the tree does not contain the Namespace, this is
//! reported once, for all its pods.

use meshprobe_mesh::finding::{Certainty, sentence_list};
use meshprobe_mesh::mesh::Fact;
use meshprobe_mesh::mesh::istio::mtls::MtlsMode;
use meshprobe_mesh::settings::InjectionAssumption;

use super::prediction::{HandlerPrediction, WorkloadPrediction};
use super::single::predict_pod;
use super::workloads::{CANDIDATES, predict_workload, settling_option};
use crate::context::{Context, Dataplane, SERVICES_SETTLE};

/// The maximum number of alternatives for one workload.
const ALTERNATIVES: usize = 8;

/// An alternative that breaks a handler which works under the assumed facts.
#[derive(Clone, Debug)]
pub struct Alternative<'t> {
    /// Its changed facts, each as the end of a sentence that starts with "if", and the option that
    /// settles the fact.
    pub suppositions: Vec<(String, &'static str)>,
    /// Whether the tree contains evidence for all of them.
    pub is_evident: bool,
    /// The context with the changed facts.
    pub context: Context<'t>,
    /// The prediction for the workload, with only the handlers that this alternative breaks.
    pub prediction: WorkloadPrediction<'t>,
}

impl Alternative<'_> {
    /// Returns a description of its changed facts: "the pod is injected and mutual TLS is STRICT".
    #[must_use]
    pub fn description(&self) -> String {
        let descriptions: Vec<&str> = self
            .suppositions
            .iter()
            .map(|(description, _)| description.as_str())
            .collect();
        sentence_list(&descriptions)
    }
}

/// A changed value of a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hypothesis {
    Injected,
    Candidate(usize),
    Rewrite(bool),
    /// The mode, and whether the tree contains evidence for it.
    Mtls(MtlsMode, bool),
    /// A port, and the index of the Service that is the oldest on it.
    Oldest(i64, usize),
}

/// An alternative with the predictions for all handlers.
struct Draft<'t> {
    hypothesis: Hypothesis,
    suppositions: Vec<(String, &'static str)>,
    is_evident: bool,
    context: Context<'t>,
    prediction: WorkloadPrediction<'t>,
    /// Whether it may apply to each handler.
    concerned: Vec<bool>,
}

/// Returns the alternatives that break a handler of a workload. Each handler is in the first alternative
/// that breaks it. At most two facts differ from the assumed ones.
#[must_use]
pub fn alternatives<'t>(
    context: &Context<'t>,
    prediction: &WorkloadPrediction<'t>,
) -> Vec<Alternative<'t>> {
    find_alternatives(context, prediction, |_| true)
}

/// Returns those of [`alternatives`] for which the tree contains evidence.
#[must_use]
pub fn evident_alternatives<'t>(
    context: &Context<'t>,
    prediction: &WorkloadPrediction<'t>,
) -> Vec<Alternative<'t>> {
    // Alternatives without evidence come last, so they do not contain handlers of these.
    find_alternatives(context, prediction, Hypothesis::is_evident)
}

fn find_alternatives<'t>(
    context: &Context<'t>,
    prediction: &WorkloadPrediction<'t>,
    is_wanted: fn(Hypothesis) -> bool,
) -> Vec<Alternative<'t>> {
    if prediction.handlers.iter().all(is_reported_anyway) {
        return Vec::new();
    }
    let mut all = hypotheses(context, prediction);
    all.truncate(ALTERNATIVES);
    let mut left = ALTERNATIVES.saturating_sub(all.len());
    let singles: Vec<Draft<'t>> = all
        .into_iter()
        .filter(|hypothesis| is_wanted(*hypothesis))
        .map(|hypothesis| predict_draft(context, prediction, hypothesis))
        .collect();
    let mut found = Vec::new();
    let mut named = vec![false; prediction.handlers.len()];
    for draft in &singles {
        found.extend(newly_broken(prediction, draft, &mut named));
    }
    for first in singles.iter().filter(|draft| draft.is_evident) {
        let others = hypotheses(&first.context, &first.prediction);
        let others = others
            .into_iter()
            .filter(|other| !other.changes_same_fact(first.hypothesis));
        for other in others.take(left).collect::<Vec<_>>() {
            left = left.saturating_sub(1);
            if !is_wanted(other) {
                continue;
            }
            let mut both = predict_draft(&first.context, &first.prediction, other);
            both.suppositions
                .splice(0..0, first.suppositions.iter().cloned());
            found.extend(newly_broken(prediction, &both, &mut named));
        }
    }
    found
}

/// Returns whether alternatives do not matter for a handler: its probe is reported as broken anyway.
fn is_reported_anyway(handler: &HandlerPrediction<'_>) -> bool {
    let outcome = handler.verdict.outcome;
    outcome.is_bad() || outcome.is_invalid()
}

impl Hypothesis {
    /// Returns whether the tree contains evidence for it.
    const fn is_evident(self) -> bool {
        !matches!(self, Self::Mtls(_, false))
    }

    /// Returns whether both change the same fact.
    const fn changes_same_fact(self, other: Self) -> bool {
        matches!(
            (self, other),
            (Self::Injected, Self::Injected)
                | (Self::Candidate(_), Self::Candidate(_))
                | (Self::Rewrite(_), Self::Rewrite(_))
                | (Self::Mtls(..), Self::Mtls(..))
                | (Self::Oldest(..), Self::Oldest(..))
        )
    }
}

/// Returns the values that facts of a workload may have instead of the assumed ones, those with evidence
/// first.
fn hypotheses<'t>(context: &Context<'t>, pod: &WorkloadPrediction<'t>) -> Vec<Hypothesis> {
    let mut all = Vec::new();
    let is_written = pod
        .dataplane
        .because
        .iter()
        .any(|reason| reason.place.is_some());
    if pod.dataplane.value == Dataplane::Unknown && is_written {
        all.push(Hypothesis::Injected);
    }
    let view = context.pod_facts(&pod.workload).installation();
    if !view.conflicts().is_empty() {
        let count = view.candidates.len().min(CANDIDATES);
        all.extend((0..count).map(Hypothesis::Candidate));
    }
    match pod.rewrite.certainty {
        Certainty::Unknown => all.extend([false, true].map(Hypothesis::Rewrite)),
        Certainty::Assumed if view.unread().is_some() => {
            all.push(Hypothesis::Rewrite(!pod.rewrite.value));
        }
        _ => {}
    }
    for handler in &pod.handlers {
        let modes = modes(context, pod, handler).into_iter();
        all.extend(modes.map(|(mode, evident)| Hypothesis::Mtls(mode, evident)));
        if let Some(port) = captured_port(pod, handler) {
            let protocols = context.services(&pod.workload).protocols(port).len();
            all.extend((1..protocols).map(|index| Hypothesis::Oldest(port, index)));
        }
    }
    let mut seen = Vec::new();
    all.retain(|hypothesis| {
        let is_new = !seen.contains(hypothesis);
        if is_new {
            seen.push(*hypothesis);
        }
        is_new
    });
    // A handler is reported with the first alternative that breaks it, so evidence comes first.
    all.sort_by_key(|hypothesis| !hypothesis.is_evident());
    all
}

/// Returns the application port of a handler if the sidecar captures it.
fn captured_port(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Option<i64> {
    let is_captured = handler.captured.as_ref().is_some_and(|fact| fact.value);
    let reaches_sidecar = pod.dataplane.value == Dataplane::Sidecar && is_captured;
    handler.port.filter(|_| reaches_sidecar)
}

/// Returns other modes of mutual TLS that may apply to the captured port of a handler.
fn modes<'t>(
    context: &Context<'t>,
    pod: &WorkloadPrediction<'t>,
    handler: &HandlerPrediction<'t>,
) -> Vec<(MtlsMode, bool)> {
    if pod.dataplane.value != Dataplane::Sidecar {
        return Vec::new();
    }
    let is_captured = |fact: &Option<Fact<bool>>| fact.as_ref().is_some_and(|fact| fact.value);
    let port = match &handler.rewritten_to {
        Some(rewritten_to) => is_captured(&pod.status_port_captured).then_some(rewritten_to.port),
        None => handler.port.filter(|_| is_captured(&handler.captured)),
    };
    port.map_or_else(Vec::new, |port| {
        context.pod_facts(&pod.workload).mtls_otherwise(port)
    })
}

/// Predicts a workload with a changed fact.
fn predict_draft<'t>(
    context: &Context<'t>,
    pod: &WorkloadPrediction<'t>,
    hypothesis: Hypothesis,
) -> Draft<'t> {
    let object = &pod.workload.object;
    let concerned = pod
        .handlers
        .iter()
        .map(|handler| match hypothesis {
            Hypothesis::Mtls(mode, evident) => {
                modes(context, pod, handler).contains(&(mode, evident))
            }
            _ => true,
        })
        .collect();
    let (description, settle, context) = match hypothesis {
        Hypothesis::Injected => {
            let changed = context.assuming(object, |facts| {
                facts.injection = Some(InjectionAssumption::All);
            });
            let description = "the pod is injected".to_owned();
            (description, "--override injection=all|none", changed)
        }
        Hypothesis::Candidate(index) => {
            let view = context.pod_facts(&pod.workload).installation();
            let plane = view.candidates.get(index);
            let description = plane.map_or_else(
                || "another control plane serves it".to_owned(),
                |plane| {
                    format!(
                        "control plane `{}` in {} serves it",
                        plane.name, plane.place.path
                    )
                },
            );
            let conflicts = view.conflicts();
            let settle = conflicts
                .first()
                .map_or("", |conflict| settling_option(conflict.key));
            (description, settle, context.assuming_control_plane(index))
        }
        Hypothesis::Rewrite(on) => {
            let changed = context.assuming(object, |facts| facts.rewrite = Some(on));
            let state = if on { "on" } else { "off" };
            let description = format!("the probe rewrite is {state}");
            (description, "--override rewrite=true|false", changed)
        }
        Hypothesis::Mtls(mode, evident) => {
            let changed = context.assuming(object, |facts| facts.mtls = Some(mode));
            let description = format!("mutual TLS is {}", mode.as_str());
            let settle = if evident {
                "--override mtls=MODE"
            } else {
                "--assume mtls=MODE"
            };
            (description, settle, changed)
        }
        Hypothesis::Oldest(port, index) => {
            let protocols = context.services(&pod.workload).protocols(port);
            let oldest = protocols.get(index).map_or("", |(service, _)| *service);
            let description = format!("Service `{oldest}` is the oldest on port {port}");
            (
                description,
                SERVICES_SETTLE,
                context.assuming_oldest_service(port, oldest),
            )
        }
    };
    let mut prediction = match hypothesis {
        Hypothesis::Candidate(_) => {
            let facts = context.pod_facts(&pod.workload);
            predict_pod(&facts, facts.rewrite())
        }
        _ => predict_workload(&context, &pod.workload),
    };
    prediction.is_target = pod.is_target;
    Draft {
        hypothesis,
        suppositions: vec![(description, settle)],
        is_evident: hypothesis.is_evident(),
        context,
        prediction,
        concerned,
    }
}

/// Returns the alternative with the handlers that it breaks and that no earlier one broke; `None` if there
/// are none.
fn newly_broken<'t>(
    before: &WorkloadPrediction<'t>,
    alternative: &Draft<'t>,
    named: &mut [bool],
) -> Option<Alternative<'t>> {
    let mut kept = Vec::new();
    for (index, after) in alternative.prediction.handlers.iter().enumerate() {
        let was_fine = before
            .handlers
            .get(index)
            .is_some_and(|handler| !is_reported_anyway(handler));
        let is_concerned = alternative.concerned.get(index).is_some_and(|yes| *yes);
        if let Some(named) = named.get_mut(index)
            && !*named
            && was_fine
            && is_concerned
            && after.verdict.outcome.is_bad()
        {
            *named = true;
            kept.push(after.clone());
        }
    }
    (!kept.is_empty()).then(|| Alternative {
        suppositions: alternative.suppositions.clone(),
        is_evident: alternative.is_evident,
        context: alternative.context.clone(),
        prediction: WorkloadPrediction {
            handlers: kept,
            ..alternative.prediction.clone()
        },
    })
}
