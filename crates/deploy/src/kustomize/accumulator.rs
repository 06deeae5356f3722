//! The objects that have been collected for a kustomization so far, with notes about those that are unknown.

use std::collections::BTreeSet;
use std::hash::BuildHasher as _;
use std::sync::Arc;

use hashbrown::hash_table::Entry;
use hashbrown::{DefaultHashBuilder, HashSet, HashTable};
use meshprobe_mesh::kube::ObjectId;
use meshprobe_tree::source::limits::{ADDED_VALUES, ALL_STEPS};
use meshprobe_tree::source::{ListRole, SourceSet};
use meshprobe_yaml::Span;

use crate::kustomize::complete::has_complete;
use crate::kustomize::fields::FieldSpec;
use crate::kustomize::kustomization::Kustomization;
use crate::kustomize::kustomization::REFUSED;
use crate::kustomize::kustomization::Unknown;
use crate::kustomize::limit::{Limit, OTHER};
use crate::kustomize::locate;
use crate::kustomize::node::Node;
use crate::kustomize::node::Origin;
use crate::kustomize::rendering::{DocumentId, Note, Scope, Topic};
use crate::kustomize::resource::Resource;
use crate::kustomize::variables;
use crate::kustomize::variables::Variable;

/// What a note about one object counts.
const NOTE: usize = 4;

/// The objects that have been collected for a kustomization so far.
#[derive(Clone, Debug, Default)]
pub(crate) struct Accumulator {
    pub(crate) resources: Vec<Resource>,
    /// The documents of the set that are included, also those that a patch deletes.
    pub(crate) used: BTreeSet<DocumentId>,
    /// The listed patch files that contain complete objects, which could also be deployed as they are.
    pub(crate) patches: BTreeSet<Arc<str>>,
    /// The documents of these files that are applied to objects: the file, the position of the document, the object.
    pub(crate) applied: BTreeSet<(Arc<str>, usize, ObjectId)>,
    pub(crate) notes: BTreeSet<Note>,
    /// Whether unknown objects are included: a patch without a target may apply to one of them.
    pub(crate) has_unknown_objects: bool,
    /// The locations of `openapi` fields, which change how patches are merged.
    pub(crate) schemas: BTreeSet<(Arc<str>, Span)>,
    /// Whether a strategic merge patch may have been applied.
    pub(crate) has_merges: bool,
    /// The variables that are replaced at the end, and the additional fields in which they are.
    pub(crate) variables: Vec<Variable>,
    pub(crate) variable_fields: Vec<FieldSpec>,
    /// The options that kustomize needs for the build.
    pub(crate) options: BTreeSet<&'static str>,
    /// The limit that caused objects to be left out.
    pub(crate) left_out: Option<Limit>,
    /// The values that were added to the objects, and the parts of notes about them.
    pub(crate) added: usize,
    /// Index of the objects by identity; `None` after a change that may have altered an identity.
    pub(crate) known: Option<IdentityIndex>,
}

/// Index of objects by identity.
#[derive(Clone, Debug, Default)]
pub(crate) struct IdentityIndex {
    hasher: DefaultHashBuilder,
    /// The positions of the objects, by identity.
    positions: HashTable<usize>,
}

impl IdentityIndex {
    fn of(resources: &[Resource]) -> Self {
        let mut index = Self::default();
        for (at, resource) in resources.iter().enumerate() {
            index.insert(resource, resources.get(..at).unwrap_or_default());
        }
        index
    }

    /// Adds `resource` at the position after `others`, unless one of them has the same identity. Returns whether it
    /// was added.
    fn insert(&mut self, resource: &Resource, others: &[Resource]) -> bool {
        let identity = |at: &usize| others.get(*at).map(Resource::identity);
        let own = Some(resource.identity());
        let found = self.positions.entry(
            self.hasher.hash_one(own),
            |at| identity(at) == own,
            |at| self.hasher.hash_one(identity(at)),
        );
        match found {
            Entry::Occupied(_) => false,
            Entry::Vacant(entry) => {
                entry.insert(others.len());
                true
            }
        }
    }
}

/// Returns a note about the text at `span` of the kustomization `k`.
pub(crate) fn note(k: &Kustomization<'_>, span: Span, message: String, scope: Scope) -> Note {
    note_at(k.origin(span), message, scope)
}

pub(crate) fn note_at(place: Origin, message: String, scope: Scope) -> Note {
    Note {
        path: place.path,
        span: place.span,
        is_refused: message.ends_with(REFUSED),
        message,
        topic: Topic::Other,
        adds_unknown: false,
        absent: None,
        scope,
        changed: Vec::new(),
        copied: Vec::new(),
    }
}

impl Accumulator {
    /// Adds an object, or a note if an object with the same identity exists already.
    pub(crate) fn add(&mut self, k: &Kustomization<'_>, at: Span, resource: Resource) {
        self.used.insert(resource.document());
        self.add_generated(k, at, resource);
    }

    /// Adds an object that is not a document of the set, or a note if an object with the same identity exists already.
    pub(crate) fn add_generated(&mut self, k: &Kustomization<'_>, at: Span, resource: Resource) {
        let others = &self.resources;
        let known = self.known.get_or_insert_with(|| IdentityIndex::of(others));
        if self.left_out.is_some() {
            return;
        }
        if known.insert(&resource, others) {
            self.resources.push(resource);
            self.count_values(OTHER);
            return;
        }
        let name = resource.name();
        let title = format!("{}/{}", name.kind, name.name);
        let message = format!("{title} is included twice: kustomize refuses to build it");
        let scope = Scope::Objects(vec![resource.id()]);
        self.note_objects(note(k, at, message, scope));
    }

    /// Adds the objects, notes and records of another kustomization, which `k` includes.
    pub(crate) fn include(&mut self, k: &Kustomization<'_>, at: Span, other: &Self) {
        for resource in &other.resources {
            self.add_generated(k, at, resource.clone());
        }
        self.used.extend(other.used.iter().cloned());
        self.patches.extend(other.patches.iter().cloned());
        self.applied.extend(other.applied.iter().cloned());
        self.count_values(other.notes.len());
        self.notes.extend(other.notes.iter().cloned());
        self.has_unknown_objects |= other.has_unknown_objects;
        self.schemas.extend(other.schemas.iter().cloned());
        self.has_merges |= other.has_merges;
        let variables = other.variables.iter();
        self.add_variables(k, variables.map(|variable| (at, variable.clone())));
        self.variable_fields
            .extend(other.variable_fields.iter().cloned());
        self.options.extend(&other.options);
        if let Some(limit) = other.left_out {
            // What is collected must not depend on the order of the entries.
            self.leave_out(limit);
        }
    }

    /// Adds the variables of `k`, or of a kustomization that it includes, with their places in `k`. kustomize refuses a second
    /// one of the same name, even if both are equal.
    ///
    /// Source: kustomize 5.8.2, `MergeSet` and `MergeSlice` in `api/types/var.go`.
    pub(crate) fn add_variables(
        &mut self,
        k: &Kustomization<'_>,
        variables: impl Iterator<Item = (Span, Variable)>,
    ) {
        let mut variables = variables.peekable();
        if variables.peek().is_none() {
            return;
        }
        let known = self.variables.iter();
        let mut names: HashSet<String> = known.map(|known| known.name.clone()).collect();
        for (at, variable) in variables {
            if names.insert(variable.name.clone()) {
                self.variables.push(variable);
            } else {
                let message = format!("the variable `{}` exists twice: {REFUSED}", variable.name);
                self.add_note(k, at, message);
            }
        }
    }

    /// Replaces the variables, which kustomize does at the end of a build.
    pub(crate) fn resolve_variables(&mut self) {
        if !self.variables.is_empty() {
            let variables = std::mem::take(&mut self.variables);
            let fields = self.variable_fields.len();
            if fields.saturating_mul(self.resources.len()) > ALL_STEPS {
                return self.leave_out(Limit::Steps);
            }
            let refused =
                variables::resolve(&variables, &self.variable_fields, &mut self.resources);
            for (variable, why) in refused {
                // The object may be an unknown one.
                if !self.has_unknown_objects {
                    let message = format!("{why}: {REFUSED}");
                    let place = variable.origin.clone();
                    self.notes.insert(note_at(place, message, Scope::All));
                }
            }
        }
    }

    /// Records the patch files of a kustomization that contain complete objects.
    pub(crate) fn record_patches(&mut self, sources: &SourceSet, k: &Kustomization<'_>) {
        for entry in k.listed(ListRole::Patch) {
            let file = locate::file(sources, k.folder, entry.text);
            let mut documents = file.into_iter().flat_map(|file| &file.documents);
            if let Some(found) = documents.find(|document| document.patch && has_complete(document))
            {
                self.patches.insert(Arc::clone(&found.path));
            }
        }
    }

    /// Records that a patch is applied to objects, if its file is one of the recorded patch files.
    pub(crate) fn note_applied(&mut self, patch: &Node, objects: Vec<ObjectId>) {
        let Origin { path, span } = &patch.origin;
        if self.patches.contains(path) {
            let applied = objects.into_iter();
            self.applied
                .extend(applied.map(|object| (Arc::clone(path), span.start, object)));
        }
    }

    /// Returns the documents of patch files that are applied to objects which still exist: the file, and the position
    /// of the document.
    pub(crate) fn applied_patches(&self) -> BTreeSet<(Arc<str>, usize)> {
        if self.applied.is_empty() {
            return BTreeSet::new();
        }
        let left: BTreeSet<ObjectId> = self.resources.iter().map(Resource::id).collect();
        self.applied
            .iter()
            .filter(|(_, _, object)| left.contains(object))
            .map(|(path, at, _)| (Arc::clone(path), *at))
            .collect()
    }

    /// Removes all objects, because they would exceed a limit, and rejects further ones.
    pub(crate) fn leave_out(&mut self, limit: Limit) {
        self.resources = Vec::new();
        self.known = None;
        self.has_unknown_objects = true;
        self.left_out = self.left_out.or(Some(limit));
    }

    /// Counts values that are added to the objects. Returns `false` and leaves out all objects if there are too many.
    pub(crate) fn count_values(&mut self, values: usize) -> bool {
        // What exceeds the limit is not kept, and must not count towards the limit of all renderings.
        self.added = self.added.saturating_add(values).min(ADDED_VALUES + 1);
        let fits = self.added <= ADDED_VALUES;
        if !fits {
            self.leave_out(Limit::Added);
        }
        fits
    }

    /// Adds a note about some of many objects.
    pub(crate) fn note_objects(&mut self, note: Note) {
        if self.left_out.is_none() && self.count_values(NOTE) {
            self.notes.insert(note);
        }
    }

    /// Adds a note about the text at `at` of `k`. It applies to all objects.
    pub(crate) fn add_note(&mut self, k: &Kustomization<'_>, at: Span, message: impl Into<String>) {
        self.notes.insert(note(k, at, message.into(), Scope::All));
    }

    /// Adds a note about an entry of a setting that does not exist.
    pub(crate) fn note_absent(
        &mut self,
        k: &Kustomization<'_>,
        at: Span,
        message: String,
        path: String,
    ) {
        self.notes.insert(Note {
            absent: Some(path),
            ..note(k, at, message, Scope::All)
        });
    }

    /// Records that the notes about `at` may affect all objects that have been collected so far.
    pub(crate) fn mark_all_changed(&mut self, k: &Kustomization<'_>, at: Span) {
        let all = self.ids_of(|_| true);
        self.mark_changed(k, at, &all);
    }

    /// Returns the ids of the selected objects.
    pub(crate) fn ids_of(&self, is_selected: impl Fn(&Resource) -> bool) -> Vec<ObjectId> {
        self.resources
            .iter()
            .filter(|resource| is_selected(resource))
            .map(Resource::id)
            .collect()
    }

    /// Records that the notes about `at` may affect the pods of these objects.
    pub(crate) fn mark_changed(&mut self, k: &Kustomization<'_>, at: Span, all: &[ObjectId]) {
        if !self.count_values(all.len()) {
            return;
        }
        let origin = k.origin(at);
        self.notes = std::mem::take(&mut self.notes)
            .into_iter()
            .map(|note| match (&note.path, note.span) {
                (path, span) if *path == origin.path && span == origin.span => Note {
                    changed: all.to_vec(),
                    ..note
                },
                _ => note,
            })
            .collect();
    }

    /// Records that unknown objects are included, and adds a note about them.
    pub(crate) fn note_missing(
        &mut self,
        k: &Kustomization<'_>,
        at: Span,
        message: impl Into<String>,
    ) {
        self.note_unknown(k, at, message, None);
    }

    /// Adds a note about a setting that does not add objects.
    pub(crate) fn note_setting(&mut self, k: &Kustomization<'_>, unknown: Unknown) {
        self.notes.insert(Note {
            topic: unknown.topic,
            ..note(k, unknown.span, unknown.message, Scope::All)
        });
    }

    /// Records that a setting adds unknown objects, and adds a note about it.
    pub(crate) fn note_generator(&mut self, k: &Kustomization<'_>, unknown: Unknown) {
        self.has_unknown_objects = true;
        self.notes.insert(Note {
            adds_unknown: true,
            topic: unknown.topic,
            ..note(k, unknown.span, unknown.message, Scope::All)
        });
    }

    /// Records that unknown objects are included, and adds a note about them. `absent` is a path that does not exist.
    pub(crate) fn note_unknown(
        &mut self,
        k: &Kustomization<'_>,
        at: Span,
        message: impl Into<String>,
        absent: Option<String>,
    ) {
        self.has_unknown_objects = true;
        self.notes.insert(Note {
            adds_unknown: true,
            absent,
            ..note(k, at, message.into(), Scope::All)
        });
    }
}
