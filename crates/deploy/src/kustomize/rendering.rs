//! The objects that a kustomization renders, and what the rendering does not take into account.

use std::collections::BTreeSet;
use std::sync::Arc;

use hashbrown::HashMap;
use meshprobe_mesh::kube::{Destination, Object, ObjectId, RenderingId};
use meshprobe_tree::source::{Cluster, Document, is_kustomization, paths, shell_word};
use meshprobe_yaml::{FieldPath, Span};

use super::limit::Limit;

/// Identity of a document of the set: its file as shown to the user, and its number in the file.
pub type DocumentId = (Arc<str>, usize);

/// Objects of a kustomization that no other one lists.
#[derive(Clone, Debug)]
pub struct Rendering {
    /// Its identity.
    pub id: RenderingId,
    /// The Flux or Argo CD object that deploys it, if it affects the rendering.
    pub deployed: Option<Deployed>,
    /// The objects, in the order in which kustomize includes them.
    pub documents: Arc<[RenderedDocument]>,
    /// The documents of the set that it includes, also those that a patch deletes.
    pub used: Arc<BTreeSet<DocumentId>>,
    /// The listed patch files that contain complete objects, which could also be deployed as they are.
    pub patches: BTreeSet<Arc<str>>,
    /// The documents of these files that are applied to objects of the rendering: the file, and the position of the
    /// document.
    pub(crate) applied: BTreeSet<(Arc<str>, usize)>,
    /// Settings that are not modelled, or that kustomize refuses; sorted by location.
    pub notes: Vec<Note>,
    /// Whether unknown objects are included.
    pub has_unknown_objects: bool,
    /// The limit that caused objects to be left out.
    pub left_out: Option<Limit>,
    /// The options that kustomize needs for the build.
    pub(crate) options: BTreeSet<&'static str>,
    /// What it counts towards the limit of all renderings: its objects, and for a root the values that its kustomizations
    /// add.
    pub(crate) held: usize,
}

/// Deployment of a rendering by Flux or Argo CD.
#[derive(Clone, Debug)]
pub struct Deployed {
    /// The file with the object that deploys it.
    pub file: Arc<str>,
    /// The file that determines which objects are near: that file, or the one with the object that deploys the object.
    pub home: Arc<str>,
    /// The folder that it deploys, without `/` at its end; empty for the working directory.
    pub folder: String,
    /// The command line of Flux or Argo CD that builds it.
    pub build: String,
    /// The namespace for objects without one, and the location of that setting.
    pub destination: Option<(String, (Arc<str>, Span))>,
    /// The cluster of the objects, if it is known.
    pub cluster: Option<Arc<Cluster>>,
    /// The ConfigMap or Secret with variables that are not known, with the line that names it, and why.
    pub unread: Option<Arc<str>>,
}

impl Deployed {
    /// Returns whether the folder contains a file.
    #[must_use]
    pub fn contains(&self, path: &str) -> bool {
        paths::contains(&self.folder, path)
    }
}

impl Rendering {
    /// Returns a rendering whose objects are left out because of a limit.
    pub(crate) fn without_objects(
        id: RenderingId,
        deployed: Option<Deployed>,
        limit: Limit,
    ) -> Self {
        Self {
            id,
            deployed,
            documents: Arc::default(),
            used: Arc::default(),
            patches: BTreeSet::new(),
            applied: BTreeSet::new(),
            notes: Vec::new(),
            has_unknown_objects: true,
            left_out: Some(limit),
            options: BTreeSet::new(),
            held: 0,
        }
    }

    /// Returns the file that determines which objects are near.
    #[must_use]
    pub fn location_file(&self) -> &Arc<str> {
        let deployed = self.deployed.as_ref();
        deployed.map_or(&self.id.root, |deployed| &deployed.home)
    }

    /// Returns the file that declares the rendering: that of the deploying object, else the kustomization.
    #[must_use]
    pub fn declaring_file(&self) -> &Arc<str> {
        let deployed = self.deployed.as_ref();
        deployed.map_or(&self.id.root, |deployed| &deployed.file)
    }

    /// Returns the environment of its objects.
    #[must_use]
    pub fn environment(&self) -> &Arc<str> {
        &self.id.environment
    }

    /// Returns the command line that builds it: that of Flux or Argo CD, else of kustomize.
    #[must_use]
    pub fn build(&self) -> String {
        match &self.deployed {
            Some(deployed) => deployed.build.clone(),
            None => self.kustomize_build(),
        }
    }

    /// Returns the command line of kustomize, with the options that charts and plugins require.
    fn kustomize_build(&self) -> String {
        let options: String = self
            .options
            .iter()
            .map(|option| format!("{option} "))
            .collect();
        kustomize_build(&self.id.root).replacen(" build ", &format!(" build {options}"), 1)
    }

    /// Returns whether a note is about the kustomization itself, which contains nothing and may be a placeholder.
    #[must_use]
    pub fn is_placeholder(&self, note: &Note) -> bool {
        note.topic == Topic::Empty && note.path == self.id.root
    }

    /// Returns whether one of the objects runs pods.
    #[must_use]
    pub fn has_pods(&self) -> bool {
        self.documents.iter().any(|document| document.runs_pods)
    }

    /// Returns all objects.
    pub fn objects(&self) -> impl Iterator<Item = Object<'_>> {
        self.objects_among(|_| true)
    }

    /// Returns the objects of the selected documents.
    pub(crate) fn objects_among(
        &self,
        is_selected: fn(&RenderedDocument) -> bool,
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
        let selected = self
            .documents
            .iter()
            .filter(move |document| is_selected(document));
        selected.flat_map(move |rendered| {
            let found = Object::all_rendered_in(
                &rendered.document,
                &rendered.item,
                self.location_file(),
                &self.id,
            );
            let destination = destination.clone();
            let cluster = deployed.and_then(|deployed| deployed.cluster.clone());
            found.into_iter().map(move |object| Object {
                destination: destination.clone(),
                cluster: cluster.clone(),
                unread: deployed.and_then(|deployed| deployed.unread.as_deref()),
                ..object
            })
        })
    }
}

/// Object of a [`Rendering`].
#[derive(Clone, Debug)]
pub struct RenderedDocument {
    /// The rendered object; path, index and segment are those of the base document. The tree is composed, or that of the
    /// base document if nothing changes it.
    pub document: Document,
    /// The route to the object in the base document.
    pub item: FieldPath,
    /// Whether the object may deploy others.
    pub may_deploy: bool,
    /// Whether the object runs pods.
    pub runs_pods: bool,
}

impl RenderedDocument {
    /// Returns whether the object is an unchanged document of a file.
    #[must_use]
    pub fn is_same(&self) -> bool {
        self.document.tree().is_none_or(|tree| !tree.is_composed())
    }
}

/// Setting that a rendering does not take into account.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Note {
    /// The file of the setting.
    pub path: Arc<str>,
    /// The bytes of the setting.
    pub span: Span,
    /// What is not taken into account, and why, in one sentence.
    pub message: String,
    /// What the setting is about.
    pub topic: Topic,
    /// Whether it adds objects that are not known and may run pods.
    pub adds_unknown: bool,
    /// The local path that it names and that does not exist, as shown.
    pub absent: Option<String>,
    /// Whether kustomize refuses to build the kustomization because of it. The message then ends with this sentence.
    pub is_refused: bool,
    /// The objects that it may affect.
    pub scope: Scope,
    /// The objects whose pods the setting changes in an unknown way.
    pub changed: Vec<ObjectId>,
    /// The objects whose probes the setting copies to others.
    pub copied: Vec<ObjectId>,
}

/// Settings that decide about commands or messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Topic {
    /// The schema that decides which lists a patch merges.
    Schema,
    /// A kustomization without any settings or objects, which may be a placeholder.
    Empty,
    #[default]
    Other,
}

/// Objects that a [`Note`] may affect.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// Every object of the rendering, and unknown objects.
    All,
    /// These objects.
    Objects(Vec<ObjectId>),
}

/// Returns the command line that builds the kustomization at `path`.
#[must_use]
pub fn kustomize_build(path: &str) -> String {
    let folder = if is_kustomization(path) {
        match paths::folder(path) {
            "" => ".".to_owned(),
            "/" => "/".to_owned(),
            folder => shell_word(folder.trim_end_matches('/')),
        }
    } else {
        "DIR".to_owned()
    };
    format!("kustomize build {folder}")
}

/// Returns the documents of `patches` that no rendering applies to one of its objects. A document counts as applied
/// even if it changes nothing, or if later patches remove all of its values.
pub fn unapplied<'d, 'r>(
    mut patches: Vec<&'d Document>,
    renderings: impl Iterator<Item = &'r Rendering>,
) -> Vec<&'d Document> {
    if patches.is_empty() {
        return patches;
    }
    let mut applied: HashMap<&str, Vec<usize>> = HashMap::new();
    for (path, offset) in renderings.flat_map(|rendering| &rendering.applied) {
        applied.entry(path).or_default().push(*offset);
    }
    for offsets in applied.values_mut() {
        offsets.sort_unstable();
    }
    patches.retain(|document| {
        let offsets = applied.get(&*document.path).map_or(&[][..], Vec::as_slice);
        let first = offsets.partition_point(|offset| *offset < document.segment.start);
        offsets
            .get(first)
            .is_none_or(|offset| *offset >= document.segment.end)
    });
    patches
}
