//! Kustomize in process: the objects that a tree of kustomizations stands for, without kustomize.
//!
//! A rendered object is a document of its own, whose every key and value still knows the line
//! that brought it in: of the base, of a patch, or of a kustomization. The values are merged as
//! values and not as edits of text, because the order and the quirks of kustomize's merges are
//! rules about values, and because each part then keeps its place through any number of steps.
//! What nothing changes is the user's document itself.
//!
//! Follows kustomize 5.8.2 (`api` 0.21.2, `kyaml` 0.21.2). Not followed, because no probe depends
//! on it: references from object to object by name, `replicas`, `sortOptions`, `buildMetadata`,
//! subjects of role bindings, generated Secrets. What could matter and is not followed is a
//! [`Note`].

mod application_set;
mod body;
mod budget;
mod changes;
mod copies;
mod copy;
mod deployed;
mod field_path;
mod fields;
mod gather;
mod generated;
#[cfg(test)]
mod hostile_tests;
mod image_name;
mod images;
mod inline;
mod json_patch;
mod keyed_list;
mod kustomization;
mod limit;
mod list;
mod locate;
mod mapping;
mod merge;
mod metadata;
mod name_index;
mod node;
mod not_followed;
mod objects;
mod origin;
mod patches;
mod post_build;
mod resource;
mod roots;
mod schema;
mod selector;
mod share;
mod spelling;
#[cfg(test)]
mod tests;
mod transform;
mod unapplied;
mod unread;
mod write;

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::kube::{Destination, Object, ObjectId};
use crate::mesh::signs;
use crate::source::{Document, SourceSet, place};
use crate::yaml::{Route, Span};

use super::fact_kind::FactKind;

use budget::Budget;
use gather::Gathered;
use resource::Resource;

pub use generated::{GeneratedFrom, generator_files};
pub use limit::{DEPTH as NESTED, Limit};
pub use origin::OriginMap;
pub use unapplied::unapplied;
pub use unread::{UnreadOverlay, unread_overlays};

/// A document of the set: its file as shown to the user, and its number there.
pub type DocumentId = (Arc<str>, usize);

/// What a kustomization that no other one lists stands for.
#[derive(Clone, Debug)]
pub struct Rendering {
    /// The kustomization file; the deploying file where there is none.
    pub root: Arc<str>,
    /// The Flux or Argo CD object that deploys it, where that has a part in it.
    pub deployed: Option<Deployed>,
    /// The objects, in the order in which kustomize takes them in.
    pub documents: Vec<RenderedDocument>,
    /// The documents of the set that it takes in, also those that a patch deletes.
    pub used: BTreeSet<DocumentId>,
    /// The patch files that it names, among those with objects that could be deployed as they are written.
    pub(super) patches: BTreeSet<Arc<str>>,
    /// The documents of these files that are applied to objects of the rendering: the file, and a byte of the document.
    applied: BTreeSet<(Arc<str>, usize)>,
    /// What is not modelled, or what kustomize would refuse; sorted by place.
    pub notes: Vec<Note>,
    /// Objects come in that are not seen.
    pub is_open: bool,
    /// The limit because of which objects are left out.
    pub left_out: Option<Limit>,
    /// What it takes of the memory of renderings.
    held: usize,
}

/// What deploys a rendering.
#[derive(Clone, Debug)]
pub struct Deployed {
    /// The file with the object that deploys it.
    pub file: Arc<str>,
    /// The folder that it deploys, without `/` at its end; empty for the working directory.
    pub folder: String,
    /// The command line of Flux or Argo CD that builds it.
    pub build: String,
    /// The namespace of what names none, and where that is written.
    pub destination: Option<(String, (Arc<str>, Span))>,
}

impl Deployed {
    /// Returns whether the folder contains a file.
    #[must_use]
    pub fn contains(&self, path: &str) -> bool {
        place::contains(&self.folder, path)
    }
}

impl Rendering {
    /// Returns the rendering of what a limit leaves out.
    fn without_objects(root: Arc<str>, deployed: Option<Deployed>, limit: Limit) -> Self {
        Self {
            root,
            deployed,
            documents: Vec::new(),
            used: BTreeSet::new(),
            patches: BTreeSet::new(),
            applied: BTreeSet::new(),
            notes: Vec::new(),
            is_open: true,
            left_out: Some(limit),
            held: 0,
        }
    }

    /// Returns the file that stands for the rendering: what deploys it, else the kustomization.
    #[must_use]
    pub fn home(&self) -> &Arc<str> {
        let deployed = self.deployed.as_ref();
        deployed.map_or(&self.root, |deployed| &deployed.file)
    }

    /// Returns the command line that builds it: that of what deploys it, else kustomize.
    #[must_use]
    pub fn build(&self) -> &str {
        let deployed = self.deployed.as_ref();
        deployed.map_or("kustomize build DIR", |deployed| &deployed.build)
    }

    /// Returns whether one of the objects runs pods.
    #[must_use]
    pub fn has_pods(&self) -> bool {
        self.documents.iter().any(|one| one.runs_pods)
    }

    /// Returns all objects.
    pub fn objects(&self) -> impl Iterator<Item = Object<'_>> {
        self.objects_among(|_| true)
    }

    /// Returns the objects of some documents.
    fn objects_among(
        &self,
        is_meant: fn(&RenderedDocument) -> bool,
    ) -> impl Iterator<Item = Object<'_>> {
        let deployed = self.deployed.as_ref();
        let destination = deployed.and_then(|deployed| {
            let (namespace, (path, span)) = deployed.destination.as_ref()?;
            Some(Destination {
                namespace,
                path: Arc::clone(path),
                span: *span,
            })
        });
        let meant = self.documents.iter();
        let meant = meant.filter(move |one| is_meant(one));
        meant.flat_map(move |rendered| {
            let found = Object::all_rendered_in(
                &rendered.document,
                &rendered.item,
                self.home(),
                &self.root,
                &rendered.origin,
            );
            let destination = destination.clone();
            found.into_iter().map(move |object| Object {
                destination: destination.clone(),
                ..object
            })
        })
    }
}

/// An object of a [`Rendering`].
#[derive(Clone, Debug)]
pub struct RenderedDocument {
    /// The object with a text of its own; path and index are those of the base document.
    pub document: Document,
    /// The route to the object in the base document.
    pub item: Route,
    /// From places in that text to places in the user's files.
    pub origin: OriginMap,
    /// The object may deploy others.
    may_deploy: bool,
    /// The object runs pods.
    runs_pods: bool,
}

/// Something that a rendering does not take into account.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Note {
    /// The file that asks for it.
    pub path: Arc<str>,
    /// Where it asks.
    pub span: Span,
    /// What is not taken into account, and why, in one sentence.
    pub message: String,
    /// Which objects it may concern.
    pub scope: Scope,
    /// The objects whose pods come out in a way that is not seen, by what this is about.
    pub touched: Vec<ObjectId>,
    /// The objects whose probes are copied to others by what this is about.
    pub copied: Vec<ObjectId>,
}

/// The objects that a [`Note`] may concern.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// Every object of the rendering, and objects that are not seen.
    All,
    /// These objects.
    Objects(Vec<ObjectId>),
}

/// The kinds of objects that deploy others.
const DEPLOYING: [&str; 3] = ["Application", "ApplicationSet", "Kustomization"];

/// Renders every kustomization of the set that no other one lists, in the order of their paths,
/// and what Flux and Argo CD objects of the set make of the folders that they deploy.
#[must_use]
pub fn render(sources: &SourceSet) -> Vec<Rendering> {
    rendered(sources, |_| true)
}

/// Renders as [`render`] does, but only what states facts or runs pods: most of the bytes of a tree
/// are definitions of resources that no probe depends on.
#[must_use]
pub fn render_relevant(sources: &SourceSet) -> Vec<Rendering> {
    rendered(sources, is_relevant)
}

/// Renders as [`render`] does, but only what comes of these documents, and what deploys others.
#[must_use]
pub fn render_of(sources: &SourceSet, documents: &BTreeSet<DocumentId>) -> Vec<Rendering> {
    rendered(sources, |resource| {
        may_deploy(resource) || documents.contains(&resource.document())
    })
}

fn is_relevant(resource: &Resource) -> bool {
    if is_list(resource) {
        return true;
    }
    let (group, _) = resource.group_version();
    let kind = resource.name().kind;
    match FactKind::of(group, kind) {
        Some(FactKind::Definition) => {
            let defined = resource.body.text(&["spec", "group"]);
            defined.is_some_and(|group| signs::defined_mesh(group).is_some())
        }
        Some(_) => true,
        None => DEPLOYING.contains(&kind) || resource.body.has(&["spec", "template"]),
    }
}

fn rendered(sources: &SourceSet, is_wanted: impl Fn(&Resource) -> bool + Sync) -> Vec<Rendering> {
    deployed::render(sources, &is_wanted)
}

/// Returns whether an object may deploy something, or contain what does.
fn may_deploy(resource: &Resource) -> bool {
    DEPLOYING.contains(&resource.name().kind) || is_list(resource)
}

/// Returns whether kubectl may expand an object that kustomize leaves as it is: it has the field `items`.
fn is_list(resource: &Resource) -> bool {
    resource.body.has(&["items"])
}

/// Tells whether an object runs pods.
fn runs_pods(resource: &Resource) -> bool {
    let kind = resource.name().kind;
    matches!(kind, "CronJob" | "Pod" | "PodTemplate")
        || resource.body.has(&["spec", "template"])
        || is_list(resource)
}

fn finish(
    sources: &SourceSet,
    budget: &Budget,
    root: Arc<str>,
    deployed: Option<Deployed>,
    gathered: &Gathered,
    is_wanted: &impl Fn(&Resource) -> bool,
) -> Rendering {
    let mut documents = Vec::with_capacity(gathered.resources.len());
    let mut notes = gathered.notes.clone();
    let (mut held, mut left_out) = (0, gathered.left_out);
    let resources = gathered.resources.iter().filter(|one| !one.is_local());
    for resource in resources.filter(|one| is_wanted(one)) {
        let Some(base) = sources.document(&resource.path, resource.index) else {
            continue;
        };
        let rendered = if resource.is_intact && !resource.body.is_reread() {
            Some((base.clone(), OriginMap::same(Arc::clone(&resource.path))))
        } else {
            write::document(&resource.body.whole(), base)
        };
        match rendered {
            Some((document, origin)) => {
                let size = budget::of_document(&document, &origin, runs_pods(resource));
                if !budget.hold(size) {
                    left_out = left_out.or(Some(Limit::Memory));
                    break;
                }
                held += size;
                documents.push(RenderedDocument {
                    document: Document {
                        patch: false,
                        ..document
                    },
                    item: resource.item.clone(),
                    origin,
                    may_deploy: may_deploy(resource),
                    runs_pods: runs_pods(resource),
                });
            }
            None => {
                notes.insert(Note {
                    path: Arc::clone(&resource.path),
                    span: base.segment,
                    message: "the object cannot be rendered: its values nest too deep or a key is \
                              too long"
                        .to_owned(),
                    scope: Scope::Objects(vec![resource.id()]),
                    touched: Vec::new(),
                    copied: Vec::new(),
                });
            }
        }
    }
    if left_out != gathered.left_out {
        // A part of an overlay is judged otherwise than the whole.
        documents = Vec::new();
        budget.release(std::mem::take(&mut held));
    }
    Rendering {
        root,
        deployed,
        is_open: gathered.is_open || left_out.is_some(),
        left_out,
        held,
        documents,
        used: gathered.used.clone(),
        patches: gathered.patches.clone(),
        applied: gathered.applied_patches(),
        notes: notes.into_iter().collect(),
    }
}
