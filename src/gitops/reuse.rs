//! Reuses renderings of another state of the same tree: those of kustomizations of which nothing differs.

use hashbrown::HashMap;

use crate::gitops::changed_files::ChangedFiles;
use crate::gitops::named_entries::{names_in, texts};
use crate::kustomize::Rendering;
use crate::kustomize::locate::folder_of;
use crate::kustomize::roots::{self, Group};
use crate::source::{SourceFile, SourceSet};

/// The renderings of another state, and its files.
#[derive(Debug)]
pub(crate) struct Reuse<'p> {
    before: &'p SourceSet,
    /// The files that differ, if the states have everything else in common, such as the groups.
    changed: Option<ChangedFiles<'p>>,
    /// The groups of kustomizations, by their first root.
    groups: HashMap<String, Group>,
    /// The renderings of roots that no object deploys.
    renderings: HashMap<&'p str, &'p Rendering>,
}

impl<'p> Reuse<'p> {
    /// Prepares the renderings of another state; returns `None` if links make the paths of files ambiguous.
    pub(crate) fn new(
        sources: &'p SourceSet,
        before: &'p SourceSet,
        renderings: &'p [Rendering],
    ) -> Option<Self> {
        let has_links = !sources.links.is_empty() || !before.links.is_empty();
        if has_links || sources.max_rendered != before.max_rendered {
            return None;
        }
        let changed = ChangedFiles::between(before, sources);
        let groups = match changed {
            Some(_) => Vec::new(),
            None => roots::groups(before),
        };
        let groups = groups.into_iter();
        let groups = groups.filter_map(|group| Some((group.roots.first()?.to_string(), group)));
        let own = renderings
            .iter()
            .filter(|rendering| rendering.deployed.is_none() && rendering.left_out.is_none());
        Some(Self {
            before,
            changed,
            groups: groups.collect(),
            renderings: own.map(|found| (&*found.root, found)).collect(),
        })
    }

    /// Returns the renderings of a group, if all that they depend on is equal in both states.
    pub(crate) fn renderings_of(
        &self,
        sources: &SourceSet,
        group: &Group,
    ) -> Option<Vec<Rendering>> {
        if !self.is_equal(sources, group) {
            return None;
        }
        let found = group.roots.iter();
        found
            .map(|root| self.renderings.get(&**root).map(|found| (*found).clone()))
            .collect()
    }

    /// Returns whether a group, and all that its kustomizations can name, is equal in both states.
    fn is_equal(&self, sources: &SourceSet, group: &Group) -> bool {
        let mut members = group.members.iter();
        if let Some(changed) = &self.changed {
            let mut files = members.filter_map(|path| sources.file(path));
            return !files.any(|file| changed.are_named_by(sources, file));
        }
        let first = group.roots.first();
        let known = first.and_then(|first| self.groups.get(&**first));
        known == Some(group) && members.all(|path| self.has_equal_inputs(sources, path))
    }

    /// Returns whether a kustomization, and everything that a text in it can name, is equal in both states.
    fn has_equal_inputs(&self, sources: &SourceSet, path: &str) -> bool {
        let (Some(old), Some(new)) = (self.before.file(path), sources.file(path)) else {
            return false;
        };
        if !is_same(old, new) {
            return false;
        }
        let folder = folder_of(path);
        texts(new)
            .filter(|text| !text.contains('\n'))
            .flat_map(names_in)
            .all(|name| self.is_same_target(sources, folder, name))
    }

    /// Returns whether an entry leads to equal files in both states, or to none in both.
    fn is_same_target(&self, sources: &SourceSet, folder: &str, entry: &str) -> bool {
        if entry.is_empty() || entry.starts_with('/') {
            return true;
        }
        let path = sources.joined(folder, entry);
        let is_same_file = match (self.before.file(&path), sources.file(&path)) {
            (Some(old), Some(new)) => is_same(old, new),
            (None, None) => true,
            _ => false,
        };
        let is_folder = |set: &SourceSet| set.files_in(&path).next().is_some();
        is_same_file
            && is_folder(self.before) == is_folder(sources)
            && self.before.absent.contains(&path) == sources.absent.contains(&path)
    }
}

/// Returns whether a file was read once for both states, and is used in the same way.
fn is_same(old: &SourceFile, new: &SourceFile) -> bool {
    let patches = |file: &SourceFile| -> Vec<bool> {
        file.documents
            .iter()
            .map(|document| document.patch)
            .collect()
    };
    std::sync::Arc::ptr_eq(&old.text, &new.text)
        && old.fault.is_none()
        && new.fault.is_none()
        && old.chart_template == new.chart_template
        && patches(old) == patches(new)
}
