//! The other worlds: what becomes of a handler if a fact that nobody settled is not what it was
//! taken for.
//!
//! Only a world for which something in the tree speaks is worth a note: a policy that rivals
//! another, a value that another tool fills in, an installation of which a part could not be read
//! or that stands beside another. Nothing speaks for mutual TLS that no policy demands; since the
//! policy of the mesh often lies elsewhere, that world is looked at too, for those who ask for an
//! explanation. That a namespace may not be injected is no world of its own: where the tree does
//! not hold the Namespace, that is said once, for all its pods.

use crate::context::{Context, Dataplane, SERVICES_SETTLE};
use crate::finding::Certainty;
use crate::mesh::Fact;
use crate::mesh::istio::mtls::MtlsMode;
use crate::settings::InjectionAssumption;

use super::ties::{CANDIDATES, settle_by};
use super::{HandlerPrediction, Outcome, WorkloadPrediction, predict_with, predict_workload};

/// How many worlds of one workload are looked at.
const WORLDS: usize = 8;

/// A world in which a handler is spoiled that is not spoiled in the world that was taken for
/// granted.
#[derive(Clone, Debug)]
pub struct World<'t> {
    /// What holds in it, each as the end of a sentence that starts with "if", with the option that
    /// settles whether it does.
    pub suppositions: Vec<(String, &'static str)>,
    /// Something in the tree speaks for all of them.
    pub is_evident: bool,
    /// Its facts.
    pub context: Context<'t>,
    /// The workload there, with no other handlers than those that are spoiled there only.
    pub prediction: WorkloadPrediction<'t>,
}

impl World<'_> {
    /// Says what holds in it: "the pod is injected and mutual TLS is STRICT".
    #[must_use]
    pub fn said(&self) -> String {
        let said: Vec<&str> = self
            .suppositions
            .iter()
            .map(|(said, _)| said.as_str())
            .collect();
        said.join(" and ")
    }
}

/// What may hold instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Supposed {
    Injected,
    Candidate(usize),
    Rewrite(bool),
    /// The mode, and whether something in the tree speaks for it.
    Mtls(MtlsMode, bool),
    /// On this port the Service at this place among its rivals is the oldest.
    Oldest(i64, usize),
}

/// One world on the way, with all its handlers.
struct Draft<'t> {
    supposed: Supposed,
    suppositions: Vec<(String, &'static str)>,
    is_evident: bool,
    context: Context<'t>,
    prediction: WorkloadPrediction<'t>,
    /// For which handlers it may hold.
    concerned: Vec<bool>,
}

/// Returns the worlds that spoil a handler of a workload; each handler is named by the first one
/// that does. At most two facts differ from the world that was taken for granted.
#[must_use]
pub fn worlds<'t>(context: &Context<'t>, prediction: &WorkloadPrediction<'t>) -> Vec<World<'t>> {
    among(context, prediction, |_| true)
}

/// Returns those of [`worlds`] for which something in the tree speaks.
#[must_use]
pub fn evident_worlds<'t>(
    context: &Context<'t>,
    prediction: &WorkloadPrediction<'t>,
) -> Vec<World<'t>> {
    // The others come last, and name no handler that one of these names.
    among(context, prediction, Supposed::is_evident)
}

fn among<'t>(
    context: &Context<'t>,
    prediction: &WorkloadPrediction<'t>,
    is_wanted: fn(Supposed) -> bool,
) -> Vec<World<'t>> {
    if prediction.handlers.iter().all(is_settled) {
        return Vec::new();
    }
    let mut all = supposed(context, prediction);
    all.truncate(WORLDS);
    let mut left = WORLDS.saturating_sub(all.len());
    let singles: Vec<Draft<'t>> = all
        .into_iter()
        .filter(|one| is_wanted(*one))
        .map(|one| draft(context, prediction, one))
        .collect();
    let mut found = Vec::new();
    let mut named = vec![false; prediction.handlers.len()];
    for one in &singles {
        found.extend(spoiled(prediction, one, &mut named));
    }
    for first in singles.iter().filter(|one| one.is_evident) {
        let others = supposed(&first.context, &first.prediction);
        let others = others
            .into_iter()
            .filter(|other| !other.is_like(first.supposed));
        for other in others.take(left).collect::<Vec<_>>() {
            left = left.saturating_sub(1);
            if !is_wanted(other) {
                continue;
            }
            let mut both = draft(&first.context, &first.prediction, other);
            both.suppositions
                .splice(0..0, first.suppositions.iter().cloned());
            found.extend(spoiled(prediction, &both, &mut named));
        }
    }
    found
}

/// No other world is asked about what is said already, or is nobody's business.
fn is_settled(handler: &HandlerPrediction<'_>) -> bool {
    let outcome = handler.verdict.outcome;
    outcome.is_bad() || outcome == Outcome::BrokenWithoutMesh
}

impl Supposed {
    /// Something in the tree speaks for it.
    const fn is_evident(self) -> bool {
        !matches!(self, Self::Mtls(_, false))
    }

    /// Both are about the same fact.
    const fn is_like(self, other: Self) -> bool {
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

/// Returns what may hold instead of what was taken for granted.
fn supposed<'t>(context: &Context<'t>, pod: &WorkloadPrediction<'t>) -> Vec<Supposed> {
    let mut all = Vec::new();
    let is_written = pod.dataplane.because.iter().any(|one| one.place.is_some());
    if pod.dataplane.value == Dataplane::Unknown && is_written {
        all.push(Supposed::Injected);
    }
    let view = context.install(&pod.workload);
    if !view.conflicts().is_empty() {
        let count = view.candidates.len().min(CANDIDATES);
        all.extend((0..count).map(Supposed::Candidate));
    }
    match pod.rewrite.certainty {
        Certainty::Unknown => all.extend([false, true].map(Supposed::Rewrite)),
        Certainty::Assumed if view.unread().is_some() => {
            all.push(Supposed::Rewrite(!pod.rewrite.value));
        }
        _ => {}
    }
    for handler in &pod.handlers {
        let modes = modes(context, pod, handler).into_iter();
        all.extend(modes.map(|(mode, evident)| Supposed::Mtls(mode, evident)));
        if let Some(port) = asked(pod, handler) {
            let rivals = context.protocols(&pod.workload, port).len();
            all.extend((1..rivals).map(|index| Supposed::Oldest(port, index)));
        }
    }
    let mut seen = Vec::new();
    all.retain(|one| {
        let is_new = !seen.contains(one);
        if is_new {
            seen.push(*one);
        }
        is_new
    });
    // A handler is named by the first world that spoils it: what the tree speaks for comes first.
    all.sort_by_key(|one| !one.is_evident());
    all
}

/// The port of the application at which the kubelet's connection for a handler ends at the sidecar.
fn asked(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Option<i64> {
    let is_captured = handler.captured.as_ref().is_some_and(|fact| fact.value);
    let is_asked = pod.dataplane.value == Dataplane::Sidecar && is_captured;
    handler.port.filter(|_| is_asked)
}

/// The modes that may hold where the kubelet's connection for a handler ends at the sidecar.
fn modes<'t>(
    context: &Context<'t>,
    pod: &WorkloadPrediction<'t>,
    handler: &HandlerPrediction<'t>,
) -> Vec<(MtlsMode, bool)> {
    if pod.dataplane.value != Dataplane::Sidecar {
        return Vec::new();
    }
    let is_captured = |fact: &Option<Fact<bool>>| fact.as_ref().is_some_and(|fact| fact.value);
    let port = match &handler.becomes {
        Some(becomes) => is_captured(&pod.status_port_captured).then_some(becomes.port),
        None => handler.port.filter(|_| is_captured(&handler.captured)),
    };
    port.map_or_else(Vec::new, |port| context.mtls_otherwise(&pod.workload, port))
}

/// Predicts a workload as if something else held.
fn draft<'t>(context: &Context<'t>, pod: &WorkloadPrediction<'t>, supposed: Supposed) -> Draft<'t> {
    let object = &pod.workload.object;
    let concerned = pod.handlers.iter().map(|handler| match supposed {
        Supposed::Mtls(mode, evident) => modes(context, pod, handler).contains(&(mode, evident)),
        _ => true,
    });
    let concerned = concerned.collect();
    let (said, settle, context) = match supposed {
        Supposed::Injected => {
            let there = context.supposing(object, |facts| {
                facts.injection = Some(InjectionAssumption::All);
            });
            let said = "the pod is injected".to_owned();
            (said, "--override injection=all|none", there)
        }
        Supposed::Candidate(index) => {
            let view = context.install(&pod.workload);
            let plane = view.candidates.get(index);
            let said = plane.map_or_else(
                || "another control plane serves it".to_owned(),
                |plane| {
                    format!(
                        "control plane `{}` of {} serves it",
                        plane.name, plane.place.path
                    )
                },
            );
            let conflicts = view.conflicts();
            let settle = conflicts.first().map_or("", |one| settle_by(one.key));
            (said, settle, context.served_by(index))
        }
        Supposed::Rewrite(on) => {
            let there = context.supposing(object, |facts| facts.rewrite = Some(on));
            let said = if on { "on" } else { "off" };
            let said = format!("the probe rewrite is {said}");
            (said, "--override rewrite=true|false", there)
        }
        Supposed::Mtls(mode, evident) => {
            let there = context.supposing(object, |facts| facts.mtls = Some(mode));
            let said = format!("mutual TLS is {}", mode.as_str());
            let settle = if evident {
                "--override mtls=MODE"
            } else {
                "--assume mtls=MODE"
            };
            (said, settle, there)
        }
        Supposed::Oldest(port, index) => {
            let rivals = context.protocols(&pod.workload, port);
            let oldest = rivals.get(index).map_or("", |(service, _)| *service);
            let said = format!("Service `{oldest}` is the oldest on port {port}");
            (said, SERVICES_SETTLE, context.with_oldest(port, oldest))
        }
    };
    let mut prediction = match supposed {
        Supposed::Candidate(_) => {
            predict_with(&context, &pod.workload, context.rewrite(&pod.workload))
        }
        _ => predict_workload(&context, &pod.workload),
    };
    prediction.is_target = pod.is_target;
    Draft {
        supposed,
        suppositions: vec![(said, settle)],
        is_evident: supposed.is_evident(),
        context,
        prediction,
        concerned,
    }
}

/// Keeps of a world the handlers that it alone spoils.
fn spoiled<'t>(
    before: &WorkloadPrediction<'t>,
    there: &Draft<'t>,
    named: &mut [bool],
) -> Option<World<'t>> {
    let mut kept = Vec::new();
    for (index, after) in there.prediction.handlers.iter().enumerate() {
        let was_fine = before
            .handlers
            .get(index)
            .is_some_and(|one| !is_settled(one));
        let is_concerned = there.concerned.get(index).is_some_and(|yes| *yes);
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
    (!kept.is_empty()).then(|| World {
        suppositions: there.suppositions.clone(),
        is_evident: there.is_evident,
        context: there.context.clone(),
        prediction: WorkloadPrediction {
            handlers: kept,
            ..there.prediction.clone()
        },
    })
}
