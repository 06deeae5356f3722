//! Objects that kustomizations name and do not deploy.
//!
//! A kustomization that uses a manifest as a patch, or deletes what it lists, must not hide an object that is deployed
//! in another way: `kubectl apply`, or a folder that Argo CD applies. So what nothing renders is checked as it is
//! written, unless it may be the patch of an object that is not among the files.

use std::sync::Arc;

use hashbrown::{HashMap, HashSet};

use crate::finding::Label;
use crate::kube::{Object, ObjectKey};
use crate::source::SourceSet;

use super::Uses;
use super::complete::{Complete, complete, has_complete};
use super::render::Rendering;

/// Why an object is checked as it is written although a kustomization names its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unrendered {
    /// The kustomization uses the file as a patch, and no object that is rendered contains it.
    Patch,
    /// Kustomizations list it, and none deploys it.
    Dropped,
}

/// A policy that is not taken into account because of a kustomization.
#[derive(Clone, Debug)]
pub struct UncheckedPolicy {
    /// Its place, without a message.
    pub place: Label,
    /// The number of its document.
    pub document: usize,
    /// Kind and name.
    pub title: String,
    /// Why it is not taken into account.
    pub why: Unrendered,
    /// The kustomization, where one is known.
    pub kustomization: Option<Arc<str>>,
}

/// A document by its file and its number there.
type Key<'t> = (&'t str, usize);

/// What becomes of patch files that contain complete objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PatchUse {
    /// No kustomization can use it: what they build is seen, and does not contain it.
    Unused,
    /// It may be for an object that is not seen.
    Unseen,
}

/// How kustomizations use the documents of a set.
#[derive(Debug, Default)]
pub(super) struct RenderedDocuments<'t> {
    /// How often a document is taken in.
    taken_in: HashMap<Key<'t>, TakenIn>,
    /// The items of lists that are rendered.
    items: HashSet<ObjectKey<'t>>,
    patches: HashMap<Key<'t>, PatchUse>,
}

/// How kustomizations take in one document.
#[derive(Clone, Copy, Debug, Default)]
struct TakenIn {
    uses: Uses,
    /// Something of it is rendered.
    is_rendered: bool,
    /// A kustomization that was left out takes it in.
    is_unknown: bool,
}

/// What an object of a file is taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// A manifest: it is checked as it is written.
    Manifest(Option<Unrendered>),
    /// Kustomizations take it in: it is checked as it comes out of them.
    Rendered,
    /// Part of an object.
    Patch,
    /// A policy that must be named, since it is not taken into account.
    Unchecked(Unrendered),
}

impl<'t> RenderedDocuments<'t> {
    /// Looks at all renderings.
    pub(super) fn of(sources: &'t SourceSet, renderings: &'t [Rendering]) -> Self {
        let mut all = Self::default();
        for rendering in renderings {
            all.add(rendering);
        }
        all.patches = patches(sources, renderings);
        all
    }

    fn add(&mut self, rendering: &'t Rendering) {
        let mut rendered: HashMap<Key<'t>, bool> = HashMap::new();
        for one in &rendering.documents {
            let key = (&*one.document.path, one.document.index);
            let is_intact = rendered.entry(key).or_insert(true);
            *is_intact &= one.origin.is_same();
            if !one.item.steps().is_empty() {
                self.items.insert(ObjectKey {
                    path: key.0,
                    document: key.1,
                    item: &one.item,
                });
            }
        }
        for (path, index) in &rendering.used {
            let found = rendered.get(&(&**path, *index));
            let entry = self.taken_in.entry((&**path, *index)).or_default();
            entry.uses.count += 1;
            entry.uses.changed |= found != Some(&true);
            entry.is_rendered |= found.is_some();
            entry.is_unknown |= rendering.left_out.is_some();
        }
    }

    /// Returns how often a document is taken in, and whether it is changed: a patch file that is checked as a manifest
    /// counts as changed.
    pub(super) fn uses_of(&self, key: Key<'_>) -> Option<Uses> {
        let taken_in = self.taken_in.get(&key).map(|found| found.uses);
        let of_patch = || {
            self.patches.get(&key).map(|_| Uses {
                count: 1,
                changed: true,
            })
        };
        taken_in.or_else(of_patch)
    }

    /// Returns what an object as it is written is taken for.
    pub(super) fn standing(&self, object: &Object<'_>) -> Standing {
        let key = (&**object.path(), object.document.index);
        match self.taken_in.get(&key) {
            Some(taken_in) if self.is_rendered(*taken_in, object) => Standing::Rendered,
            Some(_) => match complete(object) {
                Some(Complete::Workload) => Standing::Manifest(Some(Unrendered::Dropped)),
                Some(Complete::Policy) => Standing::Unchecked(Unrendered::Dropped),
                Some(Complete::Other) | None => Standing::Rendered,
            },
            None if object.document.patch => self.standing_of_patch(key, object),
            None => Standing::Manifest(None),
        }
    }

    fn is_rendered(&self, taken_in: TakenIn, object: &Object<'_>) -> bool {
        let is_item = !object.route.steps().is_empty();
        taken_in.is_unknown
            || taken_in.is_rendered && (!is_item || self.items.contains(&object.key()))
    }

    fn standing_of_patch(&self, key: Key<'_>, object: &Object<'_>) -> Standing {
        let as_manifest = Standing::Manifest(Some(Unrendered::Patch));
        match (self.patches.get(&key), complete(object)) {
            (Some(_), Some(Complete::Workload)) | (Some(PatchUse::Unused), Some(_)) => as_manifest,
            (Some(PatchUse::Unseen), Some(Complete::Policy)) => {
                Standing::Unchecked(Unrendered::Patch)
            }
            _ => Standing::Patch,
        }
    }
}

/// Returns the patch files with complete objects that no rendered object contains.
fn patches<'t>(sources: &'t SourceSet, renderings: &'t [Rendering]) -> HashMap<Key<'t>, PatchUse> {
    let documents = sources.files.iter().flat_map(|file| &file.documents);
    let candidates = documents.filter(|document| document.patch && has_complete(document));
    let candidates: Vec<_> = candidates.collect();
    if candidates.is_empty() {
        return HashMap::new();
    }
    let named = named(renderings);
    let paths: HashSet<&str> = candidates.iter().map(|document| &*document.path).collect();
    let mut applied: HashMap<&str, Vec<usize>> = HashMap::new();
    for one in renderings.iter().flat_map(|one| &one.documents) {
        for (path, start) in one.origin.places_in(|path| paths.contains(path)) {
            applied.entry(path).or_default().push(start);
        }
    }
    for starts in applied.values_mut() {
        starts.sort_unstable();
        starts.dedup();
    }
    let unapplied = candidates.into_iter().filter(|document| {
        let starts = applied.get(&*document.path).map_or(&[][..], Vec::as_slice);
        let first = starts.partition_point(|start| *start < document.segment.start);
        starts
            .get(first)
            .is_none_or(|start| *start >= document.segment.end)
    });
    unapplied
        .map(|document| {
            let path = &*document.path;
            let patch_use = named.get(path).copied().unwrap_or(PatchUse::Unseen);
            ((path, document.index), patch_use)
        })
        .collect()
}

/// Returns the patch files that kustomizations among the files name.
fn named(renderings: &[Rendering]) -> HashMap<&str, PatchUse> {
    let mut named: HashMap<&str, PatchUse> = HashMap::new();
    for rendering in renderings {
        let is_open = rendering.is_open || rendering.left_out.is_some();
        for path in &rendering.patches {
            let patch_use = named.entry(path).or_insert(PatchUse::Unused);
            if is_open {
                *patch_use = PatchUse::Unseen;
            }
        }
    }
    named
}

/// Returns what is to be said of a policy that is not taken into account.
pub(super) fn unchecked(
    object: &Object<'_>,
    why: Unrendered,
    renderings: &[Rendering],
) -> UncheckedPolicy {
    let id = (Arc::clone(object.path()), object.document.index);
    let mut naming = renderings.iter().filter(|one| match why {
        Unrendered::Patch => one.patches.contains(object.path()),
        Unrendered::Dropped => one.used.contains(&id),
    });
    UncheckedPolicy {
        place: object.label_at(object.name_span(), ""),
        document: object.document.index,
        title: format!("{}/{}", object.kind, object.name()),
        why,
        kustomization: naming.next().map(|one| Arc::clone(one.home())),
    }
}
