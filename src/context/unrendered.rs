//! Objects that kustomizations name and do not deploy.
//!
//! A kustomization that uses a manifest as a patch, or deletes what it lists, must not hide an object that is deployed
//! in another way: `kubectl apply`, or a folder that Argo CD applies. So what nothing renders is checked as it is
//! written, unless it may be the patch of an object that is not among the files.

use std::sync::Arc;

use hashbrown::{HashMap, HashSet};

use crate::finding::Label;
use crate::kube::{Object, ObjectKey};
use crate::mesh::istio::keys::DEFAULT_ROOT_NAMESPACE;
use crate::settings::Settings;
use crate::source::SourceSet;

use super::Uses;
use super::complete::{Complete, complete, has_complete};
use super::fact_kind::FactKind;
use super::facts::Facts;
use super::inventory::{Subject, namespace_of};
use super::render::{Rendering, unapplied};

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
    /// Workloads that none of the kustomizations renders are where it would apply.
    pub concerns_others: bool,
    /// The namespace where it applies.
    namespace: String,
    /// What stands for the renderings that name it.
    homes: Vec<Arc<str>>,
}

impl UncheckedPolicy {
    /// Notes whether the policy would apply to workloads that the kustomizations which name it do not render. In a root
    /// namespace it would apply everywhere.
    pub(super) fn look_at(&mut self, workloads: &Facts<'_, Subject<'_>>, settings: &Settings) {
        let is_other = |one: &Subject<'_>| {
            let home = one.workload.object.home();
            !self.homes.iter().any(|known| **known == *home)
        };
        let given = [&settings.overrides, &settings.assume];
        let given = given
            .into_iter()
            .filter_map(|facts| facts.root_namespace.as_deref());
        let is_root = given
            .chain([DEFAULT_ROOT_NAMESPACE])
            .any(|root| root == self.namespace);
        self.concerns_others = if is_root {
            workloads.iter().any(is_other)
        } else {
            workloads.in_namespace(&self.namespace).any(is_other)
        };
    }
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
    /// The documents that are rendered as one object, also lists that only kubectl expands.
    whole: HashSet<Key<'t>>,
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
    /// A kustomization that takes it in renders something that runs pods.
    has_pods: bool,
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
            if one.item.steps().is_empty() {
                self.whole.insert(key);
            } else {
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
            entry.has_pods |= rendering.has_pods();
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
            Some(taken_in) => match complete(object) {
                Some(Complete::Workload | Complete::Deploying) => {
                    Standing::Manifest(Some(Unrendered::Dropped))
                }
                Some(Complete::Policy) if taken_in.has_pods => {
                    Standing::Unchecked(Unrendered::Dropped)
                }
                Some(Complete::Policy) => Standing::Manifest(Some(Unrendered::Dropped)),
                Some(Complete::Other) | None => Standing::Rendered,
            },
            None if object.document.patch => self.standing_of_patch(key, object),
            None => Standing::Manifest(None),
        }
    }

    fn is_rendered(&self, taken_in: TakenIn, object: &Object<'_>) -> bool {
        let is_item = !object.route.steps().is_empty();
        let key = (&*object.document.path, object.document.index);
        taken_in.is_unknown
            || taken_in.is_rendered
                && (!is_item || self.whole.contains(&key) || self.items.contains(&object.key()))
    }

    fn standing_of_patch(&self, key: Key<'_>, object: &Object<'_>) -> Standing {
        let as_manifest = Standing::Manifest(Some(Unrendered::Patch));
        match (self.patches.get(&key), complete(object)) {
            (Some(_), Some(Complete::Workload | Complete::Deploying))
            | (Some(PatchUse::Unused), Some(_)) => as_manifest,
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
    unapplied(candidates, renderings.iter())
        .into_iter()
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
    settings: &Settings,
) -> UncheckedPolicy {
    let id = (Arc::clone(object.path()), object.document.index);
    let naming = renderings.iter().filter(|one| match why {
        Unrendered::Patch => one.patches.contains(object.path()),
        Unrendered::Dropped => one.used.contains(&id),
    });
    let homes: Vec<_> = naming.map(|one| Arc::clone(one.home())).collect();
    let namespace = match FactKind::of(object.group(), object.kind) {
        Some(FactKind::Namespace) => object.name(),
        _ => namespace_of(object, settings).0,
    };
    UncheckedPolicy {
        place: object.label_at(object.name_span(), ""),
        document: object.document.index,
        title: format!("{}/{}", object.kind, object.name()),
        why,
        kustomization: homes.first().cloned(),
        concerns_others: false,
        namespace: namespace.to_owned(),
        homes,
    }
}
