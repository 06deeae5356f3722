//! Bases of kustomizations: a file is rewritten only where every overlay of it agrees.

use std::collections::BTreeSet;

use hashbrown::HashMap;

use crate::context::Context;
use crate::context::render::Rendering;
use crate::finding::Finding;
use crate::kube::{Object, ObjectKey, Workload};
use crate::mesh::Mesh;
use crate::predict::{Becomes, HandlerPrediction, WorkloadPrediction};

use super::essence::Essence;
use super::guard::Refusal;
use super::overlay_generated::Generated;
use super::overlay_left_out::LeftOut;
use super::overlay_unread::Unread;
use super::pod::has_work;
use super::{Direction, Seen};

/// What the overlays make of a workload of a base.
pub(super) enum Overlaid<'t> {
    /// No kustomization of the tree takes the file in.
    Plain,
    /// All overlays leave its probes alone; this is the prediction to go by, the least sure one.
    Agreed(Box<Agreed<'t>>),
    /// An overlay changes what a rewrite of the file would change too.
    Refused(Refusal),
}

/// A workload of a base as all overlays see it.
pub(super) struct Agreed<'t> {
    /// The handlers of the file with the facts of an overlay.
    pub(super) prediction: WorkloadPrediction<'t>,
    /// What becomes of it there.
    pub(super) rendered: Workload<'t>,
}

/// What the kustomizations of the tree make of its files.
pub(super) struct Overlays<'a, 't> {
    /// The facts of what is rendered.
    context: &'a Context<'t>,
    renderings: &'t [Rendering],
    predictions: &'a [WorkloadPrediction<'t>],
    /// The positions in `predictions` of everything that is made of an object.
    places: HashMap<ObjectKey<'a>, Vec<usize>>,
    left_out: LeftOut<'t>,
    unread: Unread,
    generated: Generated,
    direction: Direction,
}

impl<'a, 't> Overlays<'a, 't> {
    pub(super) fn new(seen: &Seen<'a, 't>, direction: Direction) -> Self {
        let mut places: HashMap<_, Vec<usize>> = HashMap::new();
        for (at, one) in seen.rendered.iter().enumerate() {
            let key = one.workload.object.key();
            places.entry(key).or_default().push(at);
        }
        Self {
            context: seen.overlaid,
            renderings: seen.renderings,
            predictions: seen.rendered,
            places,
            left_out: LeftOut::of(seen.renderings),
            unread: Unread::of(seen.context.sources, seen.renderings),
            generated: Generated::of(seen.context.sources),
            direction,
        }
    }

    /// Iterates over everything that is made of a workload of a file, whatever it is called there.
    pub(super) fn of<'s>(
        &'s self,
        plain: &'s WorkloadPrediction<'t>,
    ) -> impl Iterator<Item = &'a WorkloadPrediction<'t>> + use<'s, 'a, 't> {
        let found = self.places.get(&plain.workload.object.key());
        let found = found.into_iter().flatten();
        found.filter_map(|at| self.predictions.get(*at))
    }

    /// Refuses a workload of a file for which no rendering has to be looked at: an overlay takes it in of which nothing
    /// is known, or a generator copies its text.
    fn refusal_of_file(&self, plain: &WorkloadPrediction<'_>) -> Option<Refusal> {
        let left_out = self.left_out.refusal(plain);
        let unread = left_out.or_else(|| self.unread.refusal(plain));
        unread.or_else(|| self.generated.refusal(plain))
    }

    /// Returns what an overlay does that a change of the file would not go with.
    fn objection(&self, own: &Essence, seen: &WorkloadPrediction<'t>) -> Option<String> {
        let overlaid = Essence::of(&seen.workload);
        if overlaid != *own {
            let changed = || "changes its probes or how they are rewritten".to_owned();
            return Some(overlaid.added_action(own).unwrap_or_else(changed));
        }
        let object = &seen.workload.object;
        if let Some(note) = self.context.hidden_changes(object).first() {
            return Some(format!("cannot be seen: {}", note.message));
        }
        let note = self.context.hidden_copies(object).first()?;
        let what = "may copy its probes into other objects";
        Some(format!("{what}: {}", note.message))
    }

    /// Refuses a workload of a file for what an overlay, in which it becomes `object`, does.
    pub(super) fn refusal(
        &self,
        plain: &WorkloadPrediction<'_>,
        object: &Object<'_>,
        said: &str,
    ) -> Refusal {
        let overlay = object.rendered_by.unwrap_or(object.home);
        let said = format!("what {overlay} makes of it {said}");
        let same = |one: &&Rendering| one.root == *overlay && one.home() == object.home;
        let rendering = self.renderings.iter().find(same);
        let build = rendering.map_or("kustomize build DIR", Rendering::build);
        Refusal::new("kustomize-overlay", plain.workload.object.name_span(), said)
            .with_help(self.direction.help(build))
    }
}

/// Looks at what comes of `plain` in the overlays.
pub(super) fn overlaid<'t>(
    plain: &WorkloadPrediction<'t>,
    overlays: &Overlays<'_, 't>,
) -> Overlaid<'t> {
    if let Some(refusal) = overlays.refusal_of_file(plain) {
        return Overlaid::Refused(refusal);
    }
    let own = Essence::of(&plain.workload);
    let mut agreed: Option<Agreed<'t>> = None;
    for seen in overlays.of(plain) {
        if let Some(said) = overlays.objection(&own, seen) {
            return Overlaid::Refused(overlays.refusal(plain, &seen.workload.object, &said));
        }
        if agreed
            .as_ref()
            .is_some_and(|before| !is_alike(&before.prediction, seen))
        {
            let said = "is not served by the mesh as another one of the same file is";
            return Overlaid::Refused(overlays.refusal(plain, &seen.workload.object, said));
        }
        let weaker = agreed
            .as_ref()
            .is_none_or(|before| rank(seen) < rank(&before.prediction));
        if weaker {
            let prediction = WorkloadPrediction {
                workload: plain.workload.clone(),
                handlers: handlers(plain, seen),
                ..seen.clone()
            };
            agreed = Some(Agreed {
                prediction,
                rendered: seen.workload.clone(),
            });
        }
    }
    agreed.map_or(Overlaid::Plain, |agreed| Overlaid::Agreed(Box::new(agreed)))
}

/// The handlers of the file; what a mesh beside Istio makes of them is known in the overlay alone.
fn handlers<'t>(
    plain: &WorkloadPrediction<'t>,
    seen: &WorkloadPrediction<'t>,
) -> Vec<HandlerPrediction<'t>> {
    let is_other = seen.mesh.value.is_some_and(|mesh| mesh != Mesh::Istio);
    if !is_other || plain.handlers.len() != seen.handlers.len() {
        return plain.handlers.clone();
    }
    let both = plain.handlers.iter().zip(&seen.handlers);
    both.map(|(plain, seen)| HandlerPrediction {
        container: plain.container.clone(),
        handler: plain.handler.clone(),
        ..seen.clone()
    })
    .collect()
}

/// Refuses what an overlay to be rewritten takes in from files that are only context: these are
/// never edited.
pub(super) fn only_context(
    plain: &[WorkloadPrediction<'_>],
    rendered: &[WorkloadPrediction<'_>],
) -> Vec<Finding> {
    let bases = plain.iter().filter(|base| !base.is_target);
    let bases: BTreeSet<ObjectKey<'_>> = bases.map(|base| base.workload.object.key()).collect();
    let mut reported = BTreeSet::new();
    let mut findings = Vec::new();
    for seen in rendered.iter().filter(|one| one.is_target && has_work(one)) {
        let key = seen.workload.object.key();
        if bases.contains(&key) && reported.insert(key) {
            let path = seen.workload.object.path();
            let said = format!("{path} is read as context only and is not edited");
            let refusal = Refusal::new("context-only", seen.workload.object.name_span(), said)
                .with_help(format!("name {path} among the paths to have it rewritten"));
            findings.push(refusal.finding(seen));
        }
    }
    findings
}

/// Returns why a rewrite of the file can't be undone: an overlay sees other probes in it, or
/// another prober env.
pub(super) fn differing<'t>(
    plain: &WorkloadPrediction<'t>,
    overlays: &Overlays<'_, 't>,
) -> Option<Refusal> {
    if let Some(refusal) = overlays.refusal_of_file(plain) {
        return Some(refusal);
    }
    let own = Essence::of(&plain.workload);
    overlays.of(plain).find_map(|seen| {
        let said = overlays.objection(&own, seen)?;
        Some(overlays.refusal(plain, &seen.workload.object, &said))
    })
}

/// One rewrite of the file would be right for both.
fn is_alike(one: &WorkloadPrediction<'_>, other: &WorkloadPrediction<'_>) -> bool {
    one.dataplane.value == other.dataplane.value
        && one.status_port.value == other.status_port.value
        && one.rewrite.value == other.rewrite.value
        && one.release.value == other.release.value
        && one.mesh.value == other.mesh.value
        && (one.mesh.value.is_none_or(|mesh| mesh == Mesh::Istio)
            || becomes(one).eq(becomes(other)))
}

/// What the handlers of a pod are turned into.
fn becomes<'a>(pod: &'a WorkloadPrediction<'_>) -> impl Iterator<Item = Option<&'a Becomes>> {
    pod.handlers.iter().map(|one| one.becomes.as_ref())
}

/// What proves least that the mesh takes the pod in comes first.
fn rank(pod: &WorkloadPrediction<'_>) -> (bool, crate::finding::Certainty) {
    let in_mesh = pod.dataplane.value == crate::context::Dataplane::Sidecar;
    (in_mesh, pod.dataplane.certainty)
}
