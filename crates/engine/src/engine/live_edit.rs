//! Edits of files, and whether the facts hold after them, so that only the edited workloads are predicted again.

use std::borrow::Cow;
use std::sync::Arc;

use meshprobe_deploy::gitops::{ChangedFiles, render_relevant_changed};
use meshprobe_deploy::kustomize::complete::has_complete;
use meshprobe_deploy::kustomize::roots::Group;
use meshprobe_deploy::kustomize::{RenderedDocument, Rendering};
use meshprobe_mesh::kube::{Object, runs_pods};
use meshprobe_predict::context::{is_interchangeable, is_replaceable};
use meshprobe_tree::source::{
    Content, Document, SourceFile, SourceSet, changes_only_pods, is_kustomization,
};

/// What must be equal in a document that states facts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kept {
    /// Its text, because fixes may be placed anywhere in it.
    Text,
    /// Its nodes, with their texts and positions. Comments after them may differ, and what a kustomization changes in pods.
    Nodes,
}

/// What edits change of the facts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FactChange {
    /// Nothing.
    None,
    /// Those that objects in the edited files state, which are replaced.
    Replaced,
    /// Anything: a fact may differ, or what one object sees of another.
    Unknown,
}

/// The renderings that differ, each with its position.
type Renderings = Vec<(usize, Rendering)>;

/// A state of the files after edits.
#[derive(Debug)]
pub(super) struct LiveEdit<'s> {
    /// The files.
    pub(super) set: Cow<'s, SourceSet>,
    /// The renderings that differ; `None` if all of them may differ.
    pub(super) rendered: Option<Renderings>,
    /// What differs from the facts before the edits.
    pub(super) facts: FactChange,
    /// The paths of the edited files.
    pub(super) files: Vec<Arc<str>>,
}

impl<'s> LiveEdit<'s> {
    /// Returns the edits from one state of the files to another one. `groups` are those of the kustomizations, with
    /// the bytes that rendering them has reserved.
    ///
    /// All facts may differ if an identity or a label of a workload differs, an object that determines what is deployed or how
    /// a mesh is installed, the part of a kustomization that is not rendered, or whether a kustomization changes an object.
    pub(super) fn between(
        before: &SourceSet,
        renderings: &[&Rendering],
        groups: (&[Group], usize),
        (after, kept): (Cow<'s, SourceSet>, Kept),
    ) -> Self {
        let Some(changed) = ChangedFiles::between(before, &after) else {
            return Self::unknown(after);
        };
        let written = changed.iter();
        let written = written.map(|(old, new)| change_in_file(old, new, kept));
        let written = written.max().unwrap_or(FactChange::None);
        let rendered = render_relevant_changed(&after, (&changed, renderings), groups);
        let change_of = |(at, new): &(usize, Rendering)| {
            let old = renderings.get(*at);
            old.map_or(FactChange::Unknown, |old| change_between(old, new, kept))
        };
        let facts = match &rendered {
            Some(rendered) if written != FactChange::Unknown => {
                let changes = rendered.iter().map(change_of);
                changes.max().map_or(written, |change| change.max(written))
            }
            _ => FactChange::Unknown,
        };
        let files = changed.iter().map(|(_, new)| Arc::clone(&new.path));
        let files = files.collect();
        drop(changed);
        Self {
            set: after,
            rendered,
            facts,
            files,
        }
    }

    /// Returns a state of which nothing is known.
    pub(super) const fn unknown(set: Cow<'s, SourceSet>) -> Self {
        Self {
            set,
            rendered: None,
            facts: FactChange::Unknown,
            files: Vec::new(),
        }
    }

    /// Returns the objects of this state that may differ from those before the edits.
    pub(super) fn objects(&self) -> Vec<Object<'_>> {
        let files = self.files.iter().filter_map(|path| self.set.file(path));
        let written = files
            .flat_map(|file| &file.documents)
            .filter(|document| !document.patch)
            .flat_map(Object::all_in);
        let rendered = self.rendered.iter().flatten();
        let rendered = rendered.flat_map(|(_, rendering)| rendering.objects());
        written.chain(rendered).collect()
    }

    /// Returns the workloads of this state that may differ from those before the edits.
    pub(super) fn workloads(&self) -> Vec<Object<'_>> {
        self.objects().into_iter().filter(is_workload).collect()
    }
}

/// Returns what differs between the facts of two states of a file.
fn change_in_file(old: &SourceFile, new: &SourceFile, kept: Kept) -> FactChange {
    if is_kustomization(&old.path) {
        // Such a kustomization states no fact itself.
        return match kept == Kept::Nodes && changes_only_pods(old, new) {
            true => FactChange::None,
            false => FactChange::Unknown,
        };
    }
    let is_comparable =
        old.fault.is_none() && new.fault.is_none() && old.documents.len() == new.documents.len();
    if !is_comparable {
        return FactChange::Unknown;
    }
    let change = |(before, after)| {
        let is_same = is_unchanged((old, before), (new, after))
            || kept == Kept::Nodes && has_same_nodes(before, after);
        match is_same {
            true => FactChange::None,
            false => change_in_document(before, after),
        }
    };
    let documents = old.documents.iter().zip(&new.documents);
    documents.map(change).max().unwrap_or(FactChange::Unknown)
}

/// Returns whether a document has the same text at the same place.
fn is_unchanged(
    (old_file, old): (&SourceFile, &Document),
    (new_file, new): (&SourceFile, &Document),
) -> bool {
    old.segment == new.segment
        && old.segment.slice(&old_file.text) == new.segment.slice(&new_file.text)
        && std::mem::discriminant(&old.content) == std::mem::discriminant(&new.content)
        && (old.patch, old.encrypted) == (new.patch, new.encrypted)
}

/// Returns whether two states of a document differ only in comments after their nodes.
fn has_same_nodes(old: &Document, new: &Document) -> bool {
    let is_same_tree = match (&old.content, &new.content) {
        (Content::Tree(old), Content::Tree(new)) | (Content::Plain(old), Content::Plain(new)) => {
            old.has_nodes_of(new)
        }
        _ => false,
    };
    is_same_tree
        && (old.patch, old.encrypted) == (new.patch, new.encrypted)
        && old.ambiguities == new.ambiguities
}

/// Returns what differs between the facts of two states of a document. A patch must not be a complete object.
fn change_in_document(old: &Document, new: &Document) -> FactChange {
    let is_readable =
        |document: &Document| matches!(document.content, Content::Tree(_) | Content::Empty);
    let is_complete_patch = |document: &Document| document.patch && has_complete(document);
    if old.patch != new.patch
        || old.encrypted != new.encrypted
        || [old, new].into_iter().any(is_complete_patch)
        || ![old, new].into_iter().all(is_readable)
    {
        return FactChange::Unknown;
    }
    change_between_objects(&Object::all_in(old), &Object::all_in(new))
}

fn change_between_objects(old: &[Object<'_>], new: &[Object<'_>]) -> FactChange {
    if old.len() != new.len() {
        return FactChange::Unknown;
    }
    let change = |(old, new)| match (is_interchangeable(old, new), is_replaceable(old, new)) {
        (true, _) => FactChange::None,
        (false, true) => FactChange::Replaced,
        (false, false) => FactChange::Unknown,
    };
    let changes = old.iter().zip(new).map(change);
    changes.max().unwrap_or(FactChange::None)
}

/// Returns what differs between the facts of a rendering and of that before the edit.
fn change_between(old: &Rendering, new: &Rendering, kept: Kept) -> FactChange {
    let is_same = old.notes == new.notes
        && old.has_unknown_objects == new.has_unknown_objects
        && old.documents.len() == new.documents.len();
    if !is_same {
        return FactChange::Unknown;
    }
    let documents = old.documents.iter().zip(&*new.documents);
    let changes = documents.map(|(old, new)| change_in_rendered(old, new, kept));
    changes.max().unwrap_or(FactChange::None)
}

fn change_in_rendered(old: &RenderedDocument, new: &RenderedDocument, kept: Kept) -> FactChange {
    // A fix is not applied to the text of an object that a kustomization changes.
    let has_same_route = old.item == new.item
        && old.origin.is_same() == new.origin.is_same()
        && (old.may_deploy, old.runs_pods) == (new.may_deploy, new.runs_pods)
        && old.document.path == new.document.path
        && old.document.index == new.document.index;
    if !has_same_route {
        return FactChange::Unknown;
    }
    if is_equal(old, new, kept) {
        return FactChange::None;
    }
    let [old, new] = [&old.document, &new.document].map(Object::all_in);
    match old.is_empty() {
        true => FactChange::Unknown,
        false => change_between_objects(&old, &new),
    }
}

/// Returns whether two rendered documents are equal, and each part of them has the same origin.
fn is_equal(old: &RenderedDocument, new: &RenderedDocument, kept: Kept) -> bool {
    match (&old.document.content, &new.document.content) {
        (Content::Tree(one), Content::Tree(other)) if Arc::ptr_eq(one, other) => true,
        (Content::Tree(one), Content::Tree(other)) => {
            let has_same_text = one.segment() == other.segment()
                && one.segment().slice(one.text()) == other.segment().slice(other.text());
            let is_same = has_same_text
                || kept == Kept::Nodes && has_same_nodes(&old.document, &new.document);
            is_same && old.origin == new.origin
        }
        _ => false,
    }
}

/// Returns whether an object is a workload of a built-in kind.
pub(super) fn is_workload(object: &Object<'_>) -> bool {
    runs_pods(object.group(), object.kind)
}
