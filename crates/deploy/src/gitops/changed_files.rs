//! Files whose contents differ between two states of a tree that have everything else in common.

use std::sync::Arc;

use hashbrown::HashSet;
use memchr::{memchr, memchr3, memmem};
use meshprobe_mesh::kube::Object;
use meshprobe_tree::source::{
    Content, Document, SourceFile, SourceSet, changes_only_pods, is_kustomization,
};

use crate::gitops::configs::takes_values;
use crate::gitops::differing_files::{States, differing_files};
use crate::gitops::named_entries::{has_other_name, last_name, names_in, texts};
use crate::kustomize::Rendering;
use crate::kustomize::locate::folder_of;

/// The files whose contents differ, in both states.
#[derive(Debug)]
pub struct ChangedFiles<'s> {
    files: Vec<(&'s SourceFile, &'s SourceFile)>,
    paths: HashSet<&'s str>,
    /// The last names of the paths.
    names: HashSet<&'s str>,
}

impl<'s> ChangedFiles<'s> {
    /// Compares two states. Returns `None` if the second one is not the first one with other contents of some files, or if
    /// a kustomization differs in more than what it changes in pods.
    pub fn between(before: &'s SourceSet, after: &'s SourceSet) -> Option<Self> {
        let is_same_tree = Arc::ptr_eq(&before.absent, &after.absent)
            && Arc::ptr_eq(&before.remotes, &after.remotes)
            && before.links.is_empty()
            && after.links.is_empty()
            && before.max_rendered == after.max_rendered;
        if !is_same_tree {
            return None;
        }
        let in_both = |(old, new): States<'s>| {
            let keeps_inputs = |(old, new): &(&SourceFile, &SourceFile)| {
                !is_kustomization(&old.path) || changes_only_pods(old, new)
            };
            old.zip(new).filter(keeps_inputs)
        };
        let files = differing_files(before, after).map(in_both);
        let files = files.collect::<Option<Vec<_>>>()?;
        let paths: HashSet<&str> = files.iter().map(|(file, _)| &*file.path).collect();
        Some(Self {
            files,
            names: paths.iter().map(|path| last_name(path)).collect(),
            paths,
        })
    }

    /// Iterates over the files in both states.
    pub fn iter(&self) -> impl Iterator<Item = (&'s SourceFile, &'s SourceFile)> {
        self.files.iter().copied()
    }

    /// Returns whether a kustomization is one of the files, or may name one.
    pub(crate) fn are_named_by(&self, sources: &SourceSet, kustomization: &SourceFile) -> bool {
        if self.paths.contains(&*kustomization.path) {
            return true;
        }
        let text = kustomization.text.as_bytes();
        // Most kustomizations do not contain the name. An escape, a line break in place of a space or a doubled quote may
        // hide it.
        let may_name = |name: &&str| {
            memmem::find(text, name.as_bytes()).is_some()
                || memchr3(b'\\', b' ', b'\'', name.as_bytes()).is_some()
        };
        if memchr(b'\\', text).is_none() && !self.names.iter().any(may_name) {
            return false;
        }
        let folder = folder_of(&kustomization.path);
        texts(kustomization)
            .flat_map(names_in)
            .filter(|entry| !entry.is_empty() && !has_other_name(&self.names, folder, entry))
            .any(|entry| self.paths.contains(&*sources.joined(folder, entry)))
    }

    /// Returns the kustomizations that are among the files, or may name one of them.
    pub(crate) fn named_by(&self, sources: &'s SourceSet) -> Vec<&'s SourceFile> {
        let files = sources.files.iter();
        files
            .filter(|file| is_kustomization(&file.path) && self.are_named_by(sources, file))
            .collect()
    }

    /// Returns whether the files may change what is deployed: a file states it, or is deployed without a kustomization.
    /// ApplicationSets only read the names of folders.
    pub(crate) fn may_change_deployments(&self, renderings: &[&Rendering]) -> bool {
        if self.files.is_empty() {
            return false;
        }
        let deployed: Vec<_> = renderings
            .iter()
            .filter_map(|rendering| rendering.deployed.as_ref())
            .collect();
        let states_deployment = |file: &SourceFile| {
            let contains =
                |part: &&str| memmem::find(file.text.as_bytes(), part.as_bytes()).is_some();
            takes_values(file) || ["fluxcd.io/", "argoproj.io/"].iter().any(contains)
        };
        // Deployments may replace variables with values.
        let has_other_values =
            |old, new| !deployed.is_empty() && !values_in(old).eq(values_in(new));
        let is_deployed = |path: &str| deployed.iter().any(|deployed| deployed.contains(path));
        self.files.iter().any(|(old, new)| {
            states_deployment(old)
                || states_deployment(new)
                || has_other_values(old, new)
                || is_deployed(&new.path)
        })
    }
}

/// Iterates over the texts of the documents in a file that are a ConfigMap or a Secret, or of which that is not known.
fn values_in(file: &SourceFile) -> impl Iterator<Item = &str> {
    let has_values = |document: &&Document| match &document.content {
        Content::Tree(_) => {
            let objects = Object::all_in(document);
            let mut kinds = objects.iter().map(|object| object.kind);
            kinds.any(|kind| matches!(kind, "ConfigMap" | "Secret"))
        }
        Content::Empty | Content::Plain(_) | Content::NotKubernetes => false,
        Content::Template | Content::Broken { .. } => true,
    };
    let documents = file.documents.iter().filter(has_values);
    documents.map(|document| document.segment.slice(&file.text))
}
