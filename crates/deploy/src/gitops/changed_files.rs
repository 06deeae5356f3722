//! Files whose contents differ between two states of a tree that have everything else in common.

use std::cmp::Ordering;
use std::sync::Arc;

use hashbrown::HashSet;
use memchr::{memchr, memchr3, memmem};
use meshprobe_mesh::kube::Object;
use meshprobe_tree::source::{
    Content, Document, SourceFile, SourceSet, changes_only_pods, is_kustomization,
};
use meshprobe_yaml::{NodeRef, Tree};

use crate::gitops::configs::takes_values;
use crate::kustomize::Rendering;
use crate::kustomize::locate::{folder_of, tree};

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
            && after.links.is_empty();
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

/// A file in both states of a tree; `None` in a state that does not have it.
pub(super) type States<'s> = (Option<&'s SourceFile>, Option<&'s SourceFile>);

/// Iterates over the files that differ between two states of a tree, or that only one of them has, in the order of their
/// paths.
pub(super) fn differing_files<'s>(
    before: &'s SourceSet,
    after: &'s SourceSet,
) -> impl Iterator<Item = States<'s>> {
    let mut old = before.files.iter().peekable();
    let mut new = after.files.iter().peekable();
    let states = std::iter::from_fn(move || {
        let order = match (old.peek(), new.peek()) {
            (Some(old), Some(new)) => old.path.cmp(&new.path),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => return None,
        };
        let before = old.next_if(|_| order.is_le());
        let after = new.next_if(|_| order.is_ge());
        Some((before, after))
    });
    states.filter(|(before, after)| {
        before
            .zip(*after)
            .is_none_or(|(old, new)| !is_same(old, new))
    })
}

/// Returns whether a file was read once for both states, and is used in the same way.
fn is_same(old: &SourceFile, new: &SourceFile) -> bool {
    let (one, other) = (old.documents.iter(), new.documents.iter());
    let patches = one.map(|document| document.patch);
    Arc::ptr_eq(&old.text, &new.text)
        && old.fault == new.fault
        && old.chart_template == new.chart_template
        && patches.eq(other.map(|document| document.patch))
}

/// Iterates over the texts of all keys and values of a kustomization; over nothing if it has no tree.
pub(super) fn texts(kustomization: &SourceFile) -> impl Iterator<Item = &str> {
    text_nodes(kustomization).map(|(text, _)| text)
}

/// Iterates over all keys and values of a kustomization that are texts; over nothing if it has no tree.
pub fn text_nodes(kustomization: &SourceFile) -> impl Iterator<Item = (&str, NodeRef<'_>)> {
    let mut pending: Vec<NodeRef<'_>> = tree(kustomization)
        .and_then(Tree::root)
        .into_iter()
        .collect();
    std::iter::from_fn(move || {
        let node = pending.pop()?;
        pending.extend(node.items());
        for entry in node.entries() {
            pending.push(entry.key);
            pending.push(entry.value);
        }
        Some(node.text().map(|text| (text, node)))
    })
    .flatten()
}

/// Iterates over the names of files that a text may be: the text itself, and the part after the first `=`, because a generator
/// names a file after the key (`key=file`).
pub fn names_in(text: &str) -> impl Iterator<Item = &str> {
    let value = text.split_once('=').map(|(_, name)| name);
    std::iter::once(text).chain(value)
}

/// Returns the last name of a path.
pub(super) fn last_name(path: &str) -> &str {
    let path = path.trim_end_matches('/');
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

/// Returns whether the last name of an entry of a kustomization in `folder` alone shows that it leads to no path with one of
/// these last names. This saves the search for most texts of a kustomization.
pub(super) fn has_other_name(names: &HashSet<&str>, folder: &str, entry: &str) -> bool {
    let name = last_name(entry);
    let folder = folder.trim_end_matches('/');
    let depth = match folder {
        "" => 0,
        _ => 1 + folder.matches('/').count(),
    };
    // A path that leads above the working directory and back into it ends with another name.
    let up = entry.split('/').filter(|part| *part == "..").count();
    let keeps_name = up <= depth && !folder.starts_with("..") && !entry.contains('\\');
    keeps_name && !matches!(name, "" | "." | "..") && !names.contains(name)
}

/// What differs between two states of a tree.
#[derive(Debug)]
pub(super) struct Differences<'p> {
    sources: &'p SourceSet,
    before: &'p SourceSet,
    /// The files that differ, or that only one state has.
    files: HashSet<&'p str>,
    /// The folders in which only one state has a file.
    folders: HashSet<&'p str>,
    /// The folders whose kustomization differs, or that only one state has.
    kustomized: HashSet<&'p str>,
    /// The entries of kustomizations that are absent in only one state.
    absent: HashSet<&'p str>,
    /// The last names of all these paths.
    names: HashSet<&'p str>,
}

impl<'p> Differences<'p> {
    /// Compares two states.
    pub(super) fn between(before: &'p SourceSet, sources: &'p SourceSet) -> Self {
        let mut found = Self {
            sources,
            before,
            files: HashSet::new(),
            folders: HashSet::new(),
            kustomized: HashSet::new(),
            absent: HashSet::new(),
            names: HashSet::new(),
        };
        found.compare_files();
        if !Arc::ptr_eq(&before.absent, &sources.absent) {
            let (old, new) = (&*before.absent, &*sources.absent);
            let only = old.symmetric_difference(new).map(String::as_str);
            found.absent.extend(only);
        }
        let folders = found.folders.iter().chain(&found.kustomized);
        let paths = found.files.iter().chain(&found.absent).chain(folders);
        found.names = paths.map(|path| last_name(path)).collect();
        found
    }

    fn compare_files(&mut self) {
        for (old, new) in differing_files(self.before, self.sources) {
            let Some(file) = old.or(new) else { continue };
            if old.is_none() || new.is_none() {
                self.folders.extend(folders_above(&file.path));
            }
            self.add(file);
        }
    }

    fn add(&mut self, file: &'p SourceFile) {
        if is_kustomization(&file.path) {
            let folder = file.path.rsplit_once('/');
            self.kustomized
                .insert(folder.map_or("", |(folder, _)| folder));
        }
        self.files.insert(&file.path);
    }

    /// Returns whether a kustomization, and everything that a text in it can name, is equal in both states.
    pub(super) fn has_equal_inputs(&self, path: &str) -> bool {
        let Some(file) = self.sources.file(path) else {
            return false;
        };
        let folder = folder_of(path);
        !self.files.contains(path)
            && texts(file)
                .filter(|text| !text.contains('\n'))
                .flat_map(names_in)
                .all(|name| self.is_same_target(folder, name))
    }

    /// Returns whether an entry leads to equal files in both states, or to none in both.
    fn is_same_target(&self, folder: &str, entry: &str) -> bool {
        if entry.is_empty() || entry.starts_with('/') || has_other_name(&self.names, folder, entry)
        {
            return true;
        }
        let path = self.sources.joined(folder, entry);
        let is_folder = |set: &SourceSet| set.files_in(&path).next().is_some();
        let may_be_folder = path.is_empty() || self.folders.contains(&*path);
        !self.files.contains(&*path)
            && !self.kustomized.contains(&*path)
            && !self.absent.contains(&*path)
            && (!may_be_folder || is_folder(self.before) == is_folder(self.sources))
    }
}

/// Iterates over the folders above a file.
fn folders_above(path: &str) -> impl Iterator<Item = &str> {
    let ends = path.match_indices('/');
    ends.filter_map(|(end, _)| path.get(..end))
}
