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
use meshprobe_yaml::{Change, FieldPath, Step, Value, from_node};
use serde_json::Value as Json;

use crate::rewrite::overlay::{Overlays, PodFingerprint};
use crate::rewrite::plan::{GuardFailure, Plan, PodRewrite, RewriteInput};

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

/// One step into a value.
enum PathStep<'c> {
    Key(&'c str),
    Index(usize),
    /// The item of a list that has this `name`.
    Named(String),
}

/// Returns `object` without the fields that the changes of `pod` concern. `base` is the object of the file, for which
/// the changes were made. Returns `None` if the object cannot be read.
pub(super) fn remainder(object: &Object<'_>, base: &Object<'_>, pod: &PodRewrite) -> Option<Json> {
    let mut value: Json = from_node(object.node).ok()?;
    for change in &pod.changes {
        for path in paths(base, change) {
            remove(&mut value, &path);
        }
    }
    Some(value)
}

/// Returns the paths that a change concerns.
fn paths<'c>(base: &Object<'_>, change: &'c Change) -> Vec<Vec<PathStep<'c>>> {
    let own = parts(base, change.route());
    match change {
        Change::Set { .. } | Change::Remove { .. } => vec![own],
        Change::Replace { key, .. } => {
            let mut new = parts(base, change.route());
            new.pop();
            new.push(PathStep::Key(key));
            vec![own, new]
        }
        Change::Push { value, .. } => {
            let mut item = own;
            item.extend(name_of(value).map(PathStep::Named));
            vec![item]
        }
    }
}

fn name_of(value: &Value) -> Option<String> {
    let Value::Map(entries) = value else {
        return None;
    };
    let name = entries.iter().find(|(key, _)| key == "name")?;
    match &name.1 {
        Value::Str(name) => Some(name.clone()),
        _ => None,
    }
}

/// Returns the steps from the object to `route`; list items are identified by name if they have one.
fn parts<'c>(base: &Object<'_>, route: &'c FieldPath) -> Vec<PathStep<'c>> {
    let below = route.steps().strip_prefix(base.route.steps());
    let mut node = Some(base.node);
    let mut parts = Vec::new();
    for step in below.unwrap_or_default() {
        let next = node.and_then(|node| match step {
            Step::Key(key) => node.get(key),
            Step::Index(index) => node.items().nth(*index),
        });
        parts.push(match step {
            Step::Key(key) => PathStep::Key(key),
            Step::Index(index) => {
                let name = next.and_then(|item| item.get("name")?.text());
                name.map_or(PathStep::Index(*index), |name| {
                    PathStep::Named(name.to_owned())
                })
            }
        });
        node = next;
    }
    parts
}

/// Removes the value at the end of `path`, and the values that are empty without it.
fn remove(value: &mut Json, path: &[PathStep<'_>]) {
    let Some((part, rest)) = path.split_first() else {
        *value = Json::Null;
        return;
    };
    match (value, part) {
        (Json::Object(fields), PathStep::Key(key)) => {
            let Some(inner) = fields.get_mut(*key) else {
                return;
            };
            remove(inner, rest);
            if is_empty(inner) {
                fields.remove(*key);
            }
        }
        (Json::Array(items), part) => {
            let found = match part {
                PathStep::Index(index) => Some(*index),
                PathStep::Named(name) => items
                    .iter()
                    .position(|item| item.get("name").and_then(Json::as_str) == Some(name)),
                PathStep::Key(_) => None,
            };
            let Some((position, inner)) =
                found.and_then(|position| Some((position, items.get_mut(position)?)))
            else {
                return;
            };
            remove(inner, rest);
            if is_empty(inner) {
                items.remove(position);
            }
        }
        _ => {}
    }
}

fn is_empty(value: &Json) -> bool {
    match value {
        Json::Null => true,
        Json::Array(items) => items.is_empty(),
        Json::Object(fields) => fields.is_empty(),
        _ => false,
    }
}
