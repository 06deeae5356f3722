//! Checks that a rewrite survives every overlay that renders the file.
//!
//! An overlay that does not change a pod today may still overwrite what a rewrite adds, or may no
//! longer apply. Therefore every overlay is rendered with the edited files, and the result must have the same
//! probes, prober env and opt-out as the edited file. The check does not depend on kinds of patches.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use meshprobe_deploy::kustomize::{Note, Rendering, Scope};
use meshprobe_mesh::kube::{Object, ObjectId, RenderingId, Workload};
use meshprobe_predict::predict::WorkloadPrediction;
use meshprobe_tree::source::SourceSet;

use crate::rewrite::fingerprint::PodFingerprint;
use crate::rewrite::guard::failure::GuardFailure;
use crate::rewrite::overlay::Overlays;
use crate::rewrite::plan::{Plan, PodRewrite, RewriteInput};
use crate::rewrite::remainder::remainder;

/// The files after the changes of a plan.
#[derive(Clone, Copy, Debug)]
pub struct Edited<'e> {
    /// All files.
    pub sources: &'e SourceSet,
    /// The renderings of the kustomizations that use the changed files.
    pub renderings: &'e [Rendering],
}

impl Plan {
    /// Removes the pods whose changes do not survive every overlay from the plan, and reports a refusal for each.
    /// Returns whether it removed any.
    pub fn remove_overridden(&mut self, seen: &RewriteInput<'_, '_>, edited: Edited<'_>) -> bool {
        let overlays = Overlays::new(seen, self.direction);
        let edited_tree = EditedTree::new(seen.renderings, edited);
        let pods = std::mem::take(&mut self.pods);
        let before = pods.len();
        for pod in pods {
            let refusal = seen
                .plain
                .iter()
                .find(|prediction| prediction.is_target && pod.is_of(&prediction.workload.object))
                .and_then(|plain| {
                    let refusal = edited_tree.refusal_of(&pod, plain, &overlays)?;
                    Some((plain, refusal))
                });
            match refusal {
                Some((plain, refusal)) => {
                    let refusal = self.direction.finding(refusal, plain);
                    self.refuse(plain.workload.object.id(), refusal);
                }
                None => self.pods.push(pod),
            }
        }
        self.pods.len() < before
    }
}

/// The workloads and problems of the edited files.
struct EditedTree<'e> {
    sources: &'e SourceSet,
    /// The rendered workloads of the documents that change.
    rendered: BTreeMap<ObjectId, Vec<Workload<'e>>>,
    /// The problems that the changes cause: the rendering and its note.
    broken: Vec<(&'e Rendering, &'e Note)>,
}

impl<'e> EditedTree<'e> {
    fn new(before: &[Rendering], edited: Edited<'e>) -> Self {
        let mut rendered: BTreeMap<ObjectId, Vec<Workload<'e>>> = BTreeMap::new();
        let objects = edited.renderings.iter().flat_map(Rendering::objects);
        for workload in objects.filter_map(|object| Workload::from_object(&object)) {
            let id = workload.object.id();
            rendered.entry(id).or_default().push(workload);
        }
        let known = |rendering: &Rendering| -> BTreeSet<(Arc<str>, String)> {
            rendering
                .notes
                .iter()
                .map(|note| (Arc::clone(&note.path), note.message.clone()))
                .collect()
        };
        let notes: HashMap<&RenderingId, BTreeSet<_>> = before
            .iter()
            .map(|rendering| (&rendering.id, known(rendering)))
            .collect();
        let is_new = |rendering: &Rendering, note: &Note| {
            let key = (Arc::clone(&note.path), note.message.clone());
            let known = notes.get(&rendering.id);
            known.is_none_or(|known| !known.contains(&key))
        };
        let broken = edited.renderings.iter().flat_map(|rendering| {
            rendering
                .notes
                .iter()
                .filter(|note| is_new(rendering, note))
                .map(move |note| (rendering, note))
                .collect::<Vec<_>>()
        });
        Self {
            sources: edited.sources,
            broken: broken.collect(),
            rendered,
        }
    }

    /// Returns the reason not to change `pod`, if there is one.
    fn refusal_of(
        &self,
        pod: &PodRewrite,
        plain: &WorkloadPrediction<'_>,
        overlays: &Overlays<'_, '_>,
    ) -> Option<GuardFailure> {
        let id = plain.workload.object.id();
        let document = (Arc::clone(&pod.path), pod.document);
        let is_about = |rendering: &Rendering, note: &Note| match &note.scope {
            Scope::All => rendering.used.contains(&document),
            Scope::Objects(all) => all.contains(&id),
        };
        let document = self.sources.document(&pod.path, pod.document)?;
        let object = Object::all_in(document)
            .into_iter()
            .find(|object| pod.is_of(object))?;
        let own = Workload::from_object(&object)?;
        let wanted = PodFingerprint::of(&own);
        let mut seen = self.rendered.get(&id).into_iter().flatten();
        if let Some(lost) = seen.find(|seen| PodFingerprint::of(seen) != wanted) {
            let message = "would not keep the rewrite";
            return Some(overlays.refusal(plain, &lost.object, message));
        }
        let mut broken = self.broken.iter();
        if let Some((rendering, note)) = broken.find(|(rendering, note)| is_about(rendering, note))
        {
            let message = format!("would no longer apply: {}", note.message);
            let home = Object {
                location_file: rendering.location_file(),
                rendered_by: Some(&rendering.id),
                ..object
            };
            return Some(overlays.refusal(plain, &home, &message));
        }
        let changed = self.changed_elsewhere(&id, pod, plain, overlays)?;
        let message = "would also render other fields differently";
        Some(overlays.refusal(plain, &changed.object, message))
    }

    /// Returns the present rendering of the pod by an overlay that would render fields outside the changes
    /// differently afterwards. Such a patch may be intended for other objects.
    fn changed_elsewhere<'a, 't>(
        &self,
        id: &ObjectId,
        pod: &PodRewrite,
        plain: &WorkloadPrediction<'t>,
        overlays: &Overlays<'a, 't>,
    ) -> Option<&'a Workload<'t>> {
        let after = self.rendered.get(id).map(Vec::as_slice).unwrap_or_default();
        let mut left: HashMap<RenderSource<'_>, VecDeque<&Workload<'_>>> = HashMap::new();
        let rest =
            |workload: &Workload<'_>| remainder(&workload.object, &plain.workload.object, pod);
        let mut before = overlays
            .of(plain)
            .map(|seen| &seen.workload)
            .filter(|seen| seen.object.rendered_by.is_some());
        before.find(|seen| {
            let source = source_of(seen);
            let left = left
                .entry(source)
                .or_insert_with(|| counterparts(after, source));
            let Some(counterpart) = left.pop_front() else {
                return true;
            };
            rest(counterpart) != rest(seen)
        })
    }
}

/// The file that deploys an object, and the rendering that contains it.
type RenderSource<'t> = (&'t str, Option<&'t RenderingId>);

/// Returns the source of a rendered workload.
fn source_of<'t>(workload: &Workload<'t>) -> RenderSource<'t> {
    let object = &workload.object;
    (object.location_file(), object.rendered_by)
}

/// Returns the workloads of a source, in order. An object that deploys a kustomization without a change has no
/// rendering of its own: its workloads are those of the kustomization.
fn counterparts<'a, 't>(
    after: &'a [Workload<'t>],
    (home, rendered_by): RenderSource<'_>,
) -> VecDeque<&'a Workload<'t>> {
    let of = |home: &str| -> VecDeque<_> {
        after
            .iter()
            .filter(|workload| source_of(workload) == (home, rendered_by))
            .collect()
    };
    let own = of(home);
    match rendered_by {
        Some(rendering) if own.is_empty() => of(&rendering.root),
        _ => own,
    }
}
