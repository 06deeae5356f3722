//! From the prediction to intended changes: what the injector would do, written down ahead.
//!
//! All or nothing per pod: a guard that refuses one handler leaves the whole pod as it was.

mod arrival;
mod essence;
mod form;
mod guard;
mod handlers;
mod machine;
mod notes;
mod overlay;
mod overlay_generated;
mod overlay_left_out;
mod overlay_unread;
mod patch_file;
mod pod;
mod preview;
mod remainder;
mod undo;

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::context::render::Rendering;
use crate::context::{Context, Dataplane};
use crate::finding::Finding;
use crate::kube::Object;
use crate::predict::{HandlerPrediction, WorkloadPrediction};
use crate::yaml::{Change, Route};

use guard::Refusal;
use overlay::{Overlaid, Overlays};

pub(crate) use arrival::Edited;
pub(crate) use guard::ALLOWABLE;
pub(crate) use machine::{Made, mesh_yamls, workload_groups};
pub(crate) use preview::{Told, proxies};
pub(crate) use undo::undo;

/// What is known of a tree: its files as they stand, and what its kustomizations make of them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen<'a, 't> {
    /// The facts where no kustomization is rendered.
    pub context: &'a Context<'t>,
    /// The workloads of the files.
    pub plain: &'a [WorkloadPrediction<'t>],
    /// The facts where all are.
    pub overlaid: &'a Context<'t>,
    /// The workloads that come out of them, and all others.
    pub rendered: &'a [WorkloadPrediction<'t>],
    /// All of them.
    pub renderings: &'t [Rendering],
}

/// The changes to one pod.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PodRewrite {
    /// The file.
    pub path: Arc<str>,
    /// The document within the file, from 0.
    pub document: usize,
    /// The object within the document.
    pub object: Route,
    /// The changes.
    pub changes: Vec<Change>,
    /// What to know about it once they are made.
    pub notes: Vec<Finding>,
}

impl PodRewrite {
    fn is_of(&self, object: &Object<'_>) -> bool {
        let document = object.document;
        self.path == document.path && self.document == document.index && self.object == object.route
    }
}

/// Whether probes go to the agent or come back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Direction {
    /// They are rewritten.
    #[default]
    Ahead,
    /// A rewrite is undone.
    Back,
}

impl Direction {
    /// What to do where a file can't be changed for what `build` makes of it.
    fn help(self, build: &str) -> String {
        match self {
            Self::Ahead => {
                format!("rewrite what the overlay builds: `{build} | meshprobe rewrite -`")
            }
            Self::Back => {
                format!(
                    "undo it in what the overlay builds: `{build} | meshprobe rewrite --undo -`"
                )
            }
        }
    }

    fn finding(self, refusal: Refusal, pod: &WorkloadPrediction<'_>) -> Finding {
        match self {
            Self::Ahead => refusal.finding(pod),
            Self::Back => undo::refused(refusal, pod),
        }
    }
}

/// What a rewrite of the tree, or its way back, amounts to.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Plan {
    /// Which of the two it is.
    pub direction: Direction,
    /// The pods to change, in the order of the tree.
    pub pods: Vec<PodRewrite>,
    /// Refusals (errors that name their guard) and notes.
    pub findings: Vec<Finding>,
}

/// Plans the rewrite of every workload that is to be reported on.
#[must_use]
pub(crate) fn plan(seen: &Seen<'_, '_>) -> Plan {
    let mut plan = Plan::default();
    let overlays = Overlays::new(seen, plan.direction);
    // A file that several clusters deploy is predicted in each of them, and written once.
    let mut planned = BTreeSet::new();
    plan.findings
        .extend(overlay::only_context(seen.plain, seen.rendered));
    plan.findings.extend(patch_file::refusals(seen.rendered));
    for prediction in seen.plain.iter().filter(|one| one.is_target) {
        let object = &prediction.workload.object;
        if !planned.insert((object.path(), object.document.index, &object.route)) {
            continue;
        }
        let outcome = match overlay::overlaid(prediction, &overlays) {
            Overlaid::Plain => {
                let there = (seen.context, &prediction.workload);
                pod::rewrite(seen.context, there, prediction)
            }
            Overlaid::Agreed(agreed) => {
                let there = (seen.overlaid, &agreed.rendered);
                pod::rewrite(seen.context, there, &agreed.prediction)
            }
            Overlaid::Refused(refusal) => {
                // An overlay may bring in what the file does not hold.
                let is_due = |seen: &WorkloadPrediction<'_>| {
                    seen.dataplane.value == Dataplane::Sidecar && !outstanding(seen).is_empty()
                };
                if pod::has_work(prediction) || overlays.of(prediction).any(is_due) {
                    plan.findings.push(refusal.finding(prediction));
                }
                continue;
            }
        };
        plan.add(prediction, outcome.changes, outcome.findings);
    }
    plan
}

/// Returns the handlers that the mesh rewrites at admission and that are not rewritten ahead of
/// it: none of a pod that is not injected or that opted out. Where nothing says whether a pod is
/// injected, nothing proves that it needs no rewrite.
#[must_use]
pub(crate) fn outstanding<'a, 't>(
    pod: &'a WorkloadPrediction<'t>,
) -> Vec<&'a HandlerPrediction<'t>> {
    let opted_out = !pod.rewrite.value && pod.prober_env.is_none();
    let may_be_injected = matches!(pod.dataplane.value, Dataplane::Sidecar | Dataplane::Unknown);
    if !may_be_injected || opted_out || !pod.is_target {
        return Vec::new();
    }
    handlers::wanted(pod)
}

impl Plan {
    fn add(
        &mut self,
        prediction: &WorkloadPrediction<'_>,
        changes: Vec<Change>,
        notes: Vec<Finding>,
    ) {
        let object = &prediction.workload.object;
        if changes.is_empty() {
            self.findings.extend(notes);
            return;
        }
        self.pods.push(PodRewrite {
            path: Arc::clone(object.path()),
            document: object.document.index,
            object: object.route.clone(),
            changes,
            notes,
        });
    }
}
