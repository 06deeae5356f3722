//! Does what is written arrive in everything that is made of the file?
//!
//! An overlay that leaves a pod as it is today may still overwrite what a rewrite adds, or no
//! longer fit. So every overlay is rendered over the edited files, and must make the same of the
//! probes, the env and the opt-out as the file says. No shape of a patch is looked for.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use crate::context::render::{Note, Rendering, Scope};
use crate::kube::{Object, ObjectId, Workload};
use crate::predict::WorkloadPrediction;
use crate::source::SourceSet;

use super::essence::Essence;
use super::guard::Refusal;
use super::overlay::Overlays;
use super::remainder::remainder;
use super::{Plan, PodRewrite, Seen};

/// The files after the changes of a plan.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Edited<'e> {
    /// All files.
    pub sources: &'e SourceSet,
    /// What the kustomizations make of the files that change.
    pub renderings: &'e [Rendering],
}

impl Plan {
    /// Takes back the pods whose changes do not arrive in every overlay, each with a refusal;
    /// tells whether there are any.
    pub(crate) fn take_back_lost(&mut self, seen: &Seen<'_, '_>, edited: Edited<'_>) -> bool {
        let overlays = Overlays::new(seen, self.direction);
        let after = After::new(seen.renderings, edited);
        let pods = std::mem::take(&mut self.pods);
        let before = pods.len();
        for pod in pods {
            let refusal = seen
                .plain
                .iter()
                .find(|one| one.is_target && pod.is_of(&one.workload.object))
                .and_then(|plain| {
                    let refusal = after.objection(&pod, plain, &overlays)?;
                    Some((plain, refusal))
                });
            match refusal {
                Some((plain, refusal)) => {
                    self.findings.push(self.direction.finding(refusal, plain))
                }
                None => self.pods.push(pod),
            }
        }
        self.pods.len() < before
    }
}

/// What is made of the edited files.
struct After<'e> {
    sources: &'e SourceSet,
    /// What is made of the workloads of documents that change.
    rendered: BTreeMap<ObjectId, Vec<Workload<'e>>>,
    /// What does not fit any more: the rendering and the note.
    broken: Vec<(&'e Rendering, &'e Note)>,
}

impl<'e> After<'e> {
    fn new(before: &[Rendering], edited: Edited<'e>) -> Self {
        let mut rendered: BTreeMap<ObjectId, Vec<Workload<'e>>> = BTreeMap::new();
        let objects = edited.renderings.iter().flat_map(Rendering::objects);
        for workload in objects.filter_map(|object| Workload::from_object(&object)) {
            let id = workload.object.id();
            rendered.entry(id).or_default().push(workload);
        }
        let known = |one: &Rendering| -> BTreeSet<(Arc<str>, String)> {
            let notes = one.notes.iter();
            notes
                .map(|note| (Arc::clone(&note.path), note.message.clone()))
                .collect()
        };
        let mut notes: BTreeMap<(&str, &str), BTreeSet<_>> = BTreeMap::new();
        for one in before {
            let all = notes.entry((&one.root, one.home())).or_default();
            all.extend(known(one));
        }
        let is_new = |one: &Rendering, note: &Note| {
            let said = (Arc::clone(&note.path), note.message.clone());
            let all = notes.get(&(&*one.root, &**one.home()));
            all.is_none_or(|all| !all.contains(&said))
        };
        let broken = edited.renderings.iter().flat_map(|one| {
            let new = one.notes.iter().filter(|note| is_new(one, note));
            new.map(move |note| (one, note)).collect::<Vec<_>>()
        });
        Self {
            sources: edited.sources,
            broken: broken.collect(),
            rendered,
        }
    }

    /// Returns why the changes of `pod` are not made.
    fn objection(
        &self,
        pod: &PodRewrite,
        plain: &WorkloadPrediction<'_>,
        overlays: &Overlays<'_, '_>,
    ) -> Option<Refusal> {
        let id = plain.workload.object.id();
        let document = (Arc::clone(&pod.path), pod.document);
        let is_about = |rendering: &Rendering, note: &Note| match &note.scope {
            Scope::All => rendering.used.contains(&document),
            Scope::Objects(all) => all.contains(&id),
        };
        let document = self.sources.document(&pod.path, pod.document)?;
        let objects = Object::all_in(document).into_iter();
        let object = objects.into_iter().find(|object| pod.is_of(object))?;
        let own = Workload::from_object(&object)?;
        let wanted = Essence::of(&own);
        let mut seen = self.rendered.get(&id).into_iter().flatten();
        if let Some(lost) = seen.find(|seen| Essence::of(seen) != wanted) {
            let said = "would not take over what is written";
            return Some(overlays.refusal(plain, &lost.object, said));
        }
        let mut broken = self.broken.iter();
        if let Some((rendering, note)) = broken.find(|(rendering, note)| is_about(rendering, note))
        {
            let message = format!("would no longer fit: {}", note.message);
            let home = Object {
                home: rendering.home(),
                rendered_by: Some(&rendering.root),
                ..object
            };
            return Some(overlays.refusal(plain, &home, &message));
        }
        let changed = self.changed_beside(&id, pod, plain, overlays)?;
        let message = "would change in other fields, too";
        Some(overlays.refusal(plain, &changed.object, message))
    }

    /// Returns what an overlay makes of the pod today if it makes something else of it after the
    /// changes, apart from the changes themselves: a patch may be for other objects then.
    fn changed_beside<'a, 't>(
        &self,
        id: &ObjectId,
        pod: &PodRewrite,
        plain: &WorkloadPrediction<'t>,
        overlays: &Overlays<'a, 't>,
    ) -> Option<&'a Workload<'t>> {
        let after = self.rendered.get(id).map(Vec::as_slice).unwrap_or_default();
        let mut left: HashMap<Source<'_>, VecDeque<&Workload<'_>>> = HashMap::new();
        let rest = |one: &Workload<'_>| remainder(&one.object, &plain.workload.object, pod);
        let before = overlays.of(plain).map(|seen| &seen.workload);
        let mut before = before.filter(|seen| seen.object.rendered_by.is_some());
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

/// The file that deploys an object, and the kustomization that renders it.
type Source<'t> = (&'t str, Option<&'t str>);

fn source_of<'t>(workload: &Workload<'t>) -> Source<'t> {
    let object = &workload.object;
    (object.home(), object.rendered_by.map(|path| &**path))
}

/// Returns the workloads of a source, in order. An object that deploys a kustomization without a change has no
/// rendering of its own: its workloads are those of the kustomization.
fn counterparts<'a, 't>(
    after: &'a [Workload<'t>],
    (home, rendered_by): Source<'_>,
) -> VecDeque<&'a Workload<'t>> {
    let of = |home: &str| -> VecDeque<_> {
        let all = after.iter();
        all.filter(|one| source_of(one) == (home, rendered_by))
            .collect()
    };
    let own = of(home);
    match rendered_by {
        Some(root) if own.is_empty() => of(root),
        _ => own,
    }
}
