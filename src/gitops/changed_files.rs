//! Files whose contents differ between two states of a tree that have everything else in common.

use std::sync::Arc;

use memchr::{memchr, memchr3, memmem};

use crate::gitops::named_entries::{names_in, texts};
use crate::kustomize::Rendering;
use crate::kustomize::locate::folder_of;
use crate::source::{SourceFile, SourceSet, is_kustomization};

/// The files whose contents differ, in both states.
#[derive(Debug)]
pub(crate) struct ChangedFiles<'s> {
    files: Vec<(&'s SourceFile, &'s SourceFile)>,
}

impl<'s> ChangedFiles<'s> {
    /// Compares two states. Returns `None` if the second one is not the first one with other contents of some files, or if
    /// the content of a kustomization differs.
    pub(crate) fn between(before: &'s SourceSet, after: &'s SourceSet) -> Option<Self> {
        let is_same_tree = Arc::ptr_eq(&before.absent, &after.absent)
            && Arc::ptr_eq(&before.remotes, &after.remotes)
            && before.links.is_empty()
            && after.links.is_empty()
            && before.max_rendered == after.max_rendered
            && before.files.len() == after.files.len();
        if !is_same_tree {
            return None;
        }
        let mut files = Vec::new();
        for (old, new) in before.files.iter().zip(&after.files) {
            if old.path != new.path {
                return None;
            }
            let is_equal = Arc::ptr_eq(&old.text, &new.text)
                && old.fault.is_none() == new.fault.is_none()
                && old.chart_template == new.chart_template;
            if is_equal {
                continue;
            }
            if is_kustomization(&old.path) {
                return None;
            }
            files.push((old, new));
        }
        Some(Self { files })
    }

    /// Returns whether a kustomization may name one of the files.
    pub(crate) fn are_named_by(&self, sources: &SourceSet, kustomization: &SourceFile) -> bool {
        self.files.iter().any(|(_, file)| {
            let text = kustomization.text.as_bytes();
            let name = file.path.rsplit('/').next().unwrap_or_default();
            // Most kustomizations do not contain the name. An escape, a line break in place of a space or a doubled quote may
            // hide it.
            let may_name = memmem::find(text, name.as_bytes()).is_some()
                || memchr(b'\\', text).is_some()
                || memchr3(b'\\', b' ', b'\'', name.as_bytes()).is_some();
            may_name && names(sources, kustomization, &file.path)
        })
    }

    /// Returns the kustomizations that may name one of the files.
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
            // Deployments may replace variables with the values of these objects.
            let values = ["ConfigMap", "Secret"];
            ["valuesFrom", "fluxcd.io/", "argoproj.io/"]
                .iter()
                .any(contains)
                || !deployed.is_empty() && values.iter().any(contains)
        };
        let is_deployed = |path: &str| deployed.iter().any(|deployed| deployed.contains(path));
        self.files.iter().any(|(old, new)| {
            states_deployment(old) || states_deployment(new) || is_deployed(&new.path)
        })
    }
}

/// Returns whether a text in a kustomization leads to the file shown as `path`.
fn names(sources: &SourceSet, kustomization: &SourceFile, path: &str) -> bool {
    let folder = folder_of(&kustomization.path);
    texts(kustomization)
        .flat_map(names_in)
        .any(|entry| !entry.is_empty() && sources.joined(folder, entry) == path)
}
