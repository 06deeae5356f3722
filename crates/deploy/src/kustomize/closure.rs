//! The files that a kustomization includes, directly and through other kustomizations.

use std::collections::BTreeSet;

use meshprobe_tree::source::{SourceFile, SourceSet, patch_files};
use meshprobe_yaml::Tree;

use super::locate::{Located, file, folder_of, locate, strings, tree};

/// The files that a kustomization includes, by displayed path.
#[derive(Debug, Default)]
pub struct Closure<'s> {
    /// The kustomization itself, and those that it includes.
    pub kustomizations: BTreeSet<&'s str>,
    /// The files with objects, and the patch files.
    pub(crate) files: BTreeSet<&'s str>,
}

impl<'s> Closure<'s> {
    /// Follows the entries of a kustomization.
    pub fn of(sources: &'s SourceSet, root: &'s SourceFile) -> Self {
        let mut closure = Self::default();
        let mut pending = vec![root];
        while let Some(next) = pending.pop() {
            if closure.kustomizations.insert(&next.path) {
                closure.add(sources, next, &mut pending);
            }
        }
        closure
    }

    fn add(
        &mut self,
        sources: &'s SourceSet,
        kustomization: &'s SourceFile,
        pending: &mut Vec<&'s SourceFile>,
    ) {
        let Some(root) = tree(kustomization).and_then(Tree::root) else {
            return;
        };
        let folder = folder_of(&kustomization.path);
        let entries = ["resources", "bases", "components"]
            .into_iter()
            .flat_map(|key| strings(root, key));
        for (entry, _) in entries {
            match locate(sources, folder, entry) {
                Located::File(file) => {
                    self.files.insert(&file.path);
                }
                Located::Kustomization(inner) => pending.push(inner),
                Located::Folder | Located::Remote | Located::Missing => {}
            }
        }
        let patches = patch_files(root).into_iter();
        let patches = patches.filter_map(|entry| file(sources, folder, entry));
        self.files.extend(patches.map(|file| &*file.path));
    }

    /// Iterates over all files.
    pub fn all(&self) -> impl Iterator<Item = &'s str> {
        self.kustomizations.iter().chain(&self.files).copied()
    }
}
