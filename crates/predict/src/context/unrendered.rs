//! Objects that kustomizations name but do not deploy.
//!
//! A kustomization that uses a manifest as a patch, or deletes an object that it lists, must not hide
//! an object that is deployed in another way, such as by `kubectl apply` or from a folder that Argo CD
//! applies. So an object that no kustomization renders is checked as written, unless it may be the
//! patch of an object that is not in the tree.

use std::path::Path;
use std::sync::Arc;

use hashbrown::{HashMap, HashSet};
use meshprobe_deploy::kustomize::complete::{Complete, complete, has_complete};
use meshprobe_deploy::kustomize::{Rendering, helm_charts, unapplied};
use meshprobe_mesh::finding::Label;
use meshprobe_mesh::kube::{Object, ObjectKey, RenderingId};
use meshprobe_mesh::mesh::detect::FactKind;
use meshprobe_mesh::mesh::istio::install::PlainFile;
use meshprobe_mesh::mesh::istio::keys::DEFAULT_ROOT_NAMESPACE;
use meshprobe_mesh::settings::Settings;
use meshprobe_tree::source::{Content, Role, SourceFile, SourceSet, is_kustomization};
use meshprobe_yaml::{NodeRef, Tree};

use super::environments::Environments;
use super::namespace_index::NamespaceIndex;
use super::nearest::namespace_of;
use super::subject::Subject;

/// Why an object is checked as written although a kustomization names its file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unrendered {
    /// The kustomization uses the file as a patch, and no rendered object contains it.
    Patch,
    /// Kustomizations list it, but none deploys it.
    Dropped,
}

/// A policy that is ignored because a kustomization uses or drops it.
#[derive(Clone, Debug)]
pub struct UncheckedPolicy {
    /// The line of its name, without a message.
    pub place: Label,
    /// The index of its document.
    pub document: usize,
    /// Kind and name.
    pub title: String,
    /// Why it is ignored.
    pub why: Unrendered,
    /// The kustomization, if one is known.
    pub kustomization: Option<Arc<str>>,
    /// Whether it would apply to workloads that none of its kustomizations renders.
    pub concerns_others: bool,
    /// Whether it is a `NetworkPolicy`, which decides only about pods in ambient mode.
    pub is_network_policy: bool,
    /// The namespace where it applies.
    namespace: String,
    /// The environments of the renderings that name it.
    environments: Vec<Arc<str>>,
}

impl UncheckedPolicy {
    /// Sets [`UncheckedPolicy::concerns_others`]. A policy in a root namespace applies to all
    /// workloads.
    pub(super) fn check_workloads(
        &mut self,
        workloads: &NamespaceIndex<'_, Subject<'_>>,
        environments: &Environments,
        settings: &Settings,
    ) {
        let is_other = |subject: &Subject<'_>| {
            let object = &subject.workload.object;
            let renders =
                |rendering: &RenderingId| self.environments.contains(&rendering.environment);
            !object.rendered_by.is_some_and(renders)
                && environments.may_apply(&self.place.path, object.location_file())
        };
        let given = [&settings.overrides, &settings.assume];
        let is_root = given
            .into_iter()
            .filter_map(|facts| facts.root_namespace.as_deref())
            .chain([DEFAULT_ROOT_NAMESPACE])
            .any(|root| root == self.namespace);
        self.concerns_others = if is_root {
            workloads.iter().any(is_other)
        } else {
            workloads.in_namespace(&self.namespace).any(is_other)
        };
    }
}

/// The file and the index of a document.
type Key<'t> = (&'t str, usize);

/// Whether a kustomization can use a patch file that contains complete objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PatchUse {
    /// No kustomization uses it: all their objects are rendered, and none contains it.
    Unused,
    /// It may patch an object that is not in the tree.
    Unseen,
}

/// How kustomizations use the documents of a set.
#[derive(Debug, Default)]
pub(super) struct RenderedDocuments<'t> {
    /// How kustomizations include a document.
    taken_in: HashMap<Key<'t>, DocumentUse>,
    /// The items of lists that are rendered.
    items: HashSet<ObjectKey<'t>>,
    /// The documents that are rendered as one object, also lists that only kubectl expands.
    whole: HashSet<Key<'t>>,
    patches: HashMap<Key<'t>, PatchUse>,
}

/// How kustomizations include one document.
#[derive(Clone, Copy, Debug, Default)]
struct DocumentUse {
    uses: Uses,
    /// An object of it is rendered.
    is_rendered: bool,
    /// A kustomization that is not rendered includes it.
    is_unknown: bool,
    /// A kustomization that includes it renders an object that runs pods.
    has_pods: bool,
}

/// How an object of a file is treated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DocumentTreatment {
    /// A manifest: it is checked as written.
    Manifest(Option<Unrendered>),
    /// Kustomizations include it: it is checked as rendered.
    Rendered,
    /// Part of an object.
    Patch,
    /// A policy that must be reported, since it is ignored.
    Unchecked(Unrendered),
}

impl<'t> RenderedDocuments<'t> {
    /// Collects how all renderings use documents.
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
        for rendered_document in rendering.documents.iter() {
            let key = (
                &*rendered_document.document.path,
                rendered_document.document.index,
            );
            let is_intact = rendered.entry(key).or_insert(true);
            *is_intact &= rendered_document.is_same();
            if rendered_document.item.steps().is_empty() {
                self.whole.insert(key);
            } else {
                self.items.insert(ObjectKey {
                    path: key.0,
                    document: key.1,
                    item: &rendered_document.item,
                });
            }
        }
        for (path, index) in rendering.used.iter() {
            let found = rendered.get(&(&**path, *index));
            let entry = self.taken_in.entry((&**path, *index)).or_default();
            entry.uses.count += 1;
            entry.uses.changed |= found != Some(&true);
            entry.is_rendered |= found.is_some();
            entry.is_unknown |= rendering.left_out.is_some();
            entry.has_pods |= rendering.has_pods();
        }
    }

    /// Returns how often a document is included, and whether it is changed. A patch file that is checked
    /// as a manifest counts as changed.
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

    /// Returns how an object of a file is treated.
    pub(super) fn treatment(&self, object: &Object<'_>) -> DocumentTreatment {
        let key = (&**object.path(), object.document.index);
        match self.taken_in.get(&key) {
            Some(taken_in) if self.is_rendered(*taken_in, object) => DocumentTreatment::Rendered,
            Some(taken_in) => match complete(object) {
                Some(Complete::Workload | Complete::Deploying) => {
                    DocumentTreatment::Manifest(Some(Unrendered::Dropped))
                }
                Some(Complete::Policy) if taken_in.has_pods => {
                    DocumentTreatment::Unchecked(Unrendered::Dropped)
                }
                Some(Complete::Policy) => DocumentTreatment::Manifest(Some(Unrendered::Dropped)),
                Some(Complete::Other) | None => DocumentTreatment::Rendered,
            },
            None if object.document.patch => self.treatment_of_patch(key, object),
            None => DocumentTreatment::Manifest(None),
        }
    }

    fn is_rendered(&self, taken_in: DocumentUse, object: &Object<'_>) -> bool {
        let is_item = !object.route.steps().is_empty();
        let key = (&*object.document.path, object.document.index);
        taken_in.is_unknown
            || taken_in.is_rendered
                && (!is_item || self.whole.contains(&key) || self.items.contains(&object.key()))
    }

    fn treatment_of_patch(&self, key: Key<'_>, object: &Object<'_>) -> DocumentTreatment {
        let as_manifest = DocumentTreatment::Manifest(Some(Unrendered::Patch));
        match (self.patches.get(&key), complete(object)) {
            (Some(_), Some(Complete::Workload | Complete::Deploying))
            | (Some(PatchUse::Unused), Some(_)) => as_manifest,
            (Some(PatchUse::Unseen), Some(Complete::Policy)) => {
                DocumentTreatment::Unchecked(Unrendered::Patch)
            }
            _ => DocumentTreatment::Patch,
        }
    }
}

/// Returns the documents of patch files that contain complete objects which no rendered object
/// contains.
fn patches<'t>(sources: &'t SourceSet, renderings: &'t [Rendering]) -> HashMap<Key<'t>, PatchUse> {
    let candidates: Vec<_> = sources
        .files
        .iter()
        .flat_map(|file| &file.documents)
        .filter(|document| document.patch && has_complete(document))
        .collect();
    if candidates.is_empty() {
        return HashMap::new();
    }
    let named = named_patches(renderings);
    unapplied(candidates, renderings.iter())
        .into_iter()
        .map(|document| {
            let path = &*document.path;
            let patch_use = named.get(path).copied().unwrap_or(PatchUse::Unseen);
            ((path, document.index), patch_use)
        })
        .collect()
}

/// Returns the patch files that kustomizations of the tree name.
fn named_patches(renderings: &[Rendering]) -> HashMap<&str, PatchUse> {
    let mut named: HashMap<&str, PatchUse> = HashMap::new();
    for rendering in renderings {
        let is_open = rendering.has_unknown_objects || rendering.left_out.is_some();
        for path in &rendering.patches {
            let patch_use = named.entry(path).or_insert(PatchUse::Unused);
            if is_open {
                *patch_use = PatchUse::Unseen;
            }
        }
    }
    named
}

/// Returns the report of a policy that is ignored.
pub(super) fn unchecked(
    object: &Object<'_>,
    why: Unrendered,
    renderings: &[Rendering],
    settings: &Settings,
) -> UncheckedPolicy {
    let id = (Arc::clone(object.path()), object.document.index);
    let users: Vec<&Rendering> = renderings
        .iter()
        .filter(|rendering| match why {
            Unrendered::Patch => rendering.patches.contains(object.path()),
            Unrendered::Dropped => rendering.used.contains(&id),
        })
        .collect();
    let kind = FactKind::of(object.group(), object.kind);
    let namespace = match kind {
        Some(FactKind::Namespace) => object.name(),
        _ => namespace_of(object, settings).0,
    };
    UncheckedPolicy {
        place: object.label_at(object.name_span(), ""),
        document: object.document.index,
        title: format!("{}/{}", object.kind, object.name()),
        why,
        kustomization: users.first().map(|user| Arc::clone(user.declaring_file())),
        concerns_others: false,
        is_network_policy: kind == Some(FactKind::NetworkPolicy),
        namespace: namespace.to_owned(),
        environments: users
            .iter()
            .map(|user| Arc::clone(user.environment()))
            .collect(),
    }
}

/// How the kustomizations of the tree use a document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Uses {
    /// How many kustomizations render it.
    pub count: usize,
    /// Whether a kustomization changes or drops it.
    pub changed: bool,
}

/// An object as written in its file.
pub(super) struct WrittenObject<'t> {
    pub(super) object: Object<'t>,
    pub(super) is_target: bool,
    pub(super) treatment: DocumentTreatment,
}

/// Iterates over the objects of a file that are not only patches of other objects.
pub(super) fn written_objects<'t>(
    file: &'t SourceFile,
    documents: &RenderedDocuments<'t>,
) -> impl Iterator<Item = WrittenObject<'t>> {
    let is_target = file.role == Role::Target;
    file.documents
        .iter()
        .flat_map(Object::all_in)
        .map(move |object| WrittenObject {
            treatment: documents.treatment(&object),
            object,
            is_target,
        })
        .filter(|written| written.treatment != DocumentTreatment::Patch)
}

/// Returns the kustomizations with charts.
pub(super) fn chart_kustomizations<'t>(files: &[&'t SourceFile]) -> Vec<PlainFile<'t>> {
    let files = files.iter().filter(|file| is_kustomization(&file.path));
    let read = |file: &&'t SourceFile| {
        let mut documents = file.documents.iter();
        let root = documents.find_map(|document| document.tree()?.root())?;
        let has_charts = helm_charts::FIELDS
            .iter()
            .any(|key| root.get(key).is_some());
        has_charts.then(|| plain_file(file, root))
    };
    files.filter_map(read).collect()
}

fn plain_file<'t>(file: &'t SourceFile, root: NodeRef<'t>) -> PlainFile<'t> {
    PlainFile {
        path: &file.path,
        real_path: file.disk_path.as_deref().and_then(Path::to_str),
        root,
    }
}

/// Returns the files that do not contain Kubernetes objects, since a values file also states facts.
/// The first document of a file decides.
pub(super) fn plain_files<'t>(files: &[&'t SourceFile]) -> Vec<PlainFile<'t>> {
    files
        .iter()
        .filter_map(|file| {
            let Content::Plain(tree) = &file.documents.first()?.content else {
                return None;
            };
            Some(plain_file(file, Tree::root(tree)?))
        })
        .collect()
}
