//! What differs between two states of a tree, and what a kustomization may name of it.

use std::cmp::Ordering;
use std::sync::Arc;

use hashbrown::HashSet;
use meshprobe_tree::source::{SourceFile, SourceSet, is_kustomization};
use meshprobe_yaml::NodeRef;

use crate::kustomize::locate::folder_of;

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
    let mut pending: Vec<NodeRef<'_>> = kustomization.root().into_iter().collect();
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
