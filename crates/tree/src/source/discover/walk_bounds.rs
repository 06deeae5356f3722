//! Folders that a walk leaves out, whatever ignore files contain.

use std::path::{Path, PathBuf};

use crate::filesystem::{Entry, FileSystem};
use crate::source::discover::request::{Input, Request};
use crate::source::discover::walk_root::Root;
use crate::source::tree_root::CONFIG_NAMES;

/// Folders that a walk leaves out. Without folders, a walk visits everything below its root.
#[derive(Clone, Debug, Default)]
pub(in crate::source) struct WalkBounds {
    /// Folders that are not visited, by resolved path.
    omitted: Vec<PathBuf>,
    files: FileSystem,
    /// The resolved path of the root, if folders below it that declare to be a root are not visited.
    root: Option<PathBuf>,
}

impl WalkBounds {
    /// Returns the bounds of a walk that reads the surroundings of the inputs of a run. Leaves out folders that the run
    /// reads anyway, and trees of their own.
    pub(in crate::source) fn of_surroundings(root: &Root, request: &Request) -> Self {
        let read = folders(request).filter(|folder| *folder != root.real);
        let omitted = request.omitted.iter().map(|path| resolved(request, path));
        Self {
            omitted: read.chain(omitted).collect(),
            files: request.filesystem.clone(),
            root: (!request.walk.isolated).then(|| root.real.clone()),
        }
    }

    /// Returns whether a folder is left out; `real` returns its resolved path.
    pub(in crate::source) fn omit(&self, real: impl Fn() -> PathBuf) -> bool {
        !self.omitted.is_empty() && self.omitted.contains(&real())
    }

    /// Returns whether a folder, given by its resolved path, is a tree of its own below the root.
    pub(in crate::source) fn is_other_tree(&self, real: &Path, entries: &[Entry]) -> bool {
        let has_config = || {
            let is_config = |entry: &Entry| CONFIG_NAMES.iter().any(|name| entry.name == *name);
            entries.iter().any(is_config)
        };
        self.root.as_ref().is_some_and(|root| root != real)
            && has_config()
            && self.files.declares_root(real)
    }
}

/// Returns the roots of a request that are not below one of its inputs.
pub(in crate::source) fn unread_roots(request: &Request) -> Vec<Input> {
    let read: Vec<PathBuf> = folders(request).collect();
    request
        .roots
        .iter()
        .filter(|root| {
            let real = resolved(request, root);
            !read.iter().any(|folder| real.starts_with(folder))
        })
        .cloned()
        .map(Input::Path)
        .collect()
}

/// Iterates over the resolved paths of the folders among the inputs.
fn folders(request: &Request) -> impl Iterator<Item = PathBuf> {
    let inputs = request.targets.iter().chain(&request.context);
    inputs.filter_map(|input| match input {
        Input::Path(path) | Input::Resolved(path) => {
            Some(resolved(request, path)).filter(|path| request.filesystem.is_dir(path))
        }
        Input::Bytes { .. } | Input::Rendered(_) => None,
    })
}

/// Returns the resolved path of a path of a request.
fn resolved(request: &Request, path: &Path) -> PathBuf {
    let path = request.working_directory.join(path);
    request.filesystem.resolved_or_folded(&path)
}
