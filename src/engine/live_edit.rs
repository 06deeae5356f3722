//! Edits after which all facts hold, so that only the edited workloads are predicted again.

use std::borrow::Cow;
use std::sync::Arc;

use crate::context::is_interchangeable;
use crate::gitops::{ChangedFiles, render_relevant_changed};
use crate::kube::{Object, runs_pods};
use crate::kustomize::complete::has_complete;
use crate::kustomize::roots::Group;
use crate::kustomize::{RenderedDocument, Rendering};
use crate::source::{
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

/// A state of the files after edits that keep all facts.
#[derive(Debug)]
pub(super) struct LiveEdit<'s> {
    /// The files.
    pub(super) set: Cow<'s, SourceSet>,
    /// The renderings that differ, each with its position.
    pub(super) rendered: Vec<(usize, Rendering)>,
    /// The paths of the edited files.
    files: Vec<Arc<str>>,
}

impl<'s> LiveEdit<'s> {
    /// Returns the edits from one state of the files to another one. `groups` are those of the kustomizations, with
    /// the bytes that rendering them has reserved.
    ///
    /// Returns `None` if a fact may differ, or what one object sees of another: if something other than workloads differs,
    /// or an identity, a label, or the part of a kustomization that is not rendered.
    pub(super) fn between(
        before: &SourceSet,
        renderings: &[&Rendering],
        groups: (&[Group], usize),
        (after, kept): (Cow<'s, SourceSet>, Kept),
    ) -> Option<Self> {
        let changed = ChangedFiles::between(before, &after)?;
        let has_same_facts = |(old, new)| has_same_facts(old, new, kept);
        if !changed.iter().all(has_same_facts) {
            return None;
        }
        let rendered = render_relevant_changed(&after, (&changed, renderings), groups)?;
        let keeps_facts = |(at, new): &(usize, Rendering)| {
            let old = renderings.get(*at);
            old.is_some_and(|old| renders_same_facts(old, new, kept))
        };
        if !rendered.iter().all(keeps_facts) {
            return None;
        }
        let files = changed.iter().map(|(_, new)| Arc::clone(&new.path));
        let files = files.collect();
        drop(changed);
        Some(Self {
            files,
            rendered,
            set: after,
        })
    }

    /// Returns the workloads of this state that may differ from those before the edit.
    pub(super) fn workloads(&self) -> Vec<Object<'_>> {
        let files = self.files.iter().filter_map(|path| self.set.file(path));
        let written = files
            .flat_map(|file| &file.documents)
            .filter(|document| !document.patch)
            .flat_map(Object::all_in);
        let rendered = self
            .rendered
            .iter()
            .flat_map(|(_, rendering)| rendering.objects());
        written
            .chain(rendered)
            .filter(|object| runs_pods(object.group(), object.kind))
            .collect()
    }
}

/// Returns whether two states of a file have the same facts, and the same workloads but for what only their own pods depend
/// on.
fn has_same_facts(old: &SourceFile, new: &SourceFile, kept: Kept) -> bool {
    // Such a kustomization states no fact itself.
    if is_kustomization(&old.path) {
        return kept == Kept::Nodes && changes_only_pods(old, new);
    }
    let mut documents = old.documents.iter().zip(&new.documents);
    old.fault.is_none()
        && new.fault.is_none()
        && old.documents.len() == new.documents.len()
        && documents.all(|(before, after)| {
            is_unchanged((old, before), (new, after))
                || kept == Kept::Nodes && has_same_nodes(before, after)
                || has_same_workloads(before, after)
        })
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

/// Returns whether two states of a document contain nothing but workloads that can replace each other. A patch must not be a
/// complete object.
fn has_same_workloads(old: &Document, new: &Document) -> bool {
    let is_readable =
        |document: &Document| matches!(document.content, Content::Tree(_) | Content::Empty);
    let is_complete_patch = |document: &Document| document.patch && has_complete(document);
    if old.patch != new.patch
        || old.encrypted != new.encrypted
        || [old, new].into_iter().any(is_complete_patch)
        || ![old, new].into_iter().all(is_readable)
    {
        return false;
    }
    let (old, new) = (Object::all_in(old), Object::all_in(new));
    let mut pairs = old.iter().zip(&new);
    old.len() == new.len() && pairs.all(|(old, new)| is_interchangeable(old, new))
}

/// Returns whether a rendering differs from that before the edit only in its workloads.
fn renders_same_facts(old: &Rendering, new: &Rendering, kept: Kept) -> bool {
    let is_same = |(old, new): (&RenderedDocument, &RenderedDocument)| {
        let has_same_route = old.item == new.item
            && (old.may_deploy, old.runs_pods) == (new.may_deploy, new.runs_pods)
            && old.document.path == new.document.path
            && old.document.index == new.document.index;
        has_same_route && (is_equal(old, new, kept) || is_same_workload(old, new))
    };
    let is_same_object = |(old, new): (Object<'_>, Object<'_>)| {
        !runs_pods(old.group(), old.kind) || is_interchangeable(&old, &new)
    };
    old.notes == new.notes
        && old.has_unknown_objects == new.has_unknown_objects
        && old.documents.len() == new.documents.len()
        && old.documents.iter().zip(&*new.documents).all(is_same)
        && old.objects().zip(new.objects()).all(is_same_object)
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

/// Returns whether two rendered documents contain workloads only.
fn is_same_workload(old: &RenderedDocument, new: &RenderedDocument) -> bool {
    let all = |rendered: &RenderedDocument| {
        let objects = Object::all_in(&rendered.document);
        let mut objects = objects.iter();
        objects.len() > 0 && objects.all(|object| runs_pods(object.group(), object.kind))
    };
    all(old) && all(new)
}
