//! What differs between two states of a tree, and which kustomizations it can affect.

use std::sync::Arc;

use hashbrown::HashSet;
use meshprobe_tree::source::{SourceFile, SourceSet, is_kustomization};

use crate::gitops::differing_files::differing_files;
use crate::gitops::named_entries::{has_other_name, last_name, names_in, texts};
use crate::kustomize::locate::folder_of;

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
