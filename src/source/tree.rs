//! All files below what the user names, manifests or not.

use std::path::{Path, PathBuf};

use super::find::{Input, Request, shown_path};
use super::kustomization::identity;
use super::walk::{Met, walk_all};

/// A file of the tree.
#[derive(Clone, Debug)]
pub struct TreeFile {
    /// Where it lies.
    pub path: PathBuf,
    /// The one spelling of where its bytes lie: of a link, what it leads to.
    pub identity: PathBuf,
    /// Its place relative to the folder that holds everything the user named.
    pub below: PathBuf,
}

/// Lists all files below the targets of a run that the walk does not hide, sorted by place, each
/// place once. What cannot be read comes with the reason.
#[must_use]
pub fn tree_files(request: &Request) -> Vec<Result<TreeFile, (PathBuf, String)>> {
    let targets: Vec<PathBuf> = request
        .targets
        .iter()
        .filter_map(|target| match target {
            Input::Path(path) => Some(request.working_directory.join(path)),
            Input::Bytes { .. } | Input::Rendered(_) => None,
        })
        .filter(|path| {
            let shown = shown_path(path, &request.working_directory);
            let options = &request.walk;
            !(options.force_exclude && options.exclude.excludes(&shown, path.is_dir()))
        })
        .collect();
    let root = common(targets.iter().map(|target| folder(target)));
    let mut found = Vec::new();
    for target in &targets {
        let within = folder(target);
        let within = within.strip_prefix(&root).unwrap_or(Path::new(""));
        if !target.is_dir() {
            found.push(Met::File(target.clone()).placed(target.parent(), within));
            continue;
        }
        let base = request.working_directory.clone();
        let met = walk_all(target, &request.walk, move |path| shown_path(path, &base));
        found.extend(met.into_iter().map(|one| one.placed(Some(target), within)));
    }
    found.sort_by(|a, b| place(a).cmp(place(b)));
    found.dedup_by(|a, b| place(a) == place(b));
    found
}

fn place(file: &Result<TreeFile, (PathBuf, String)>) -> &Path {
    match file {
        Ok(file) => &file.below,
        Err((path, _)) => path,
    }
}

/// The folder itself, or the one that a file lies in.
fn folder(target: &Path) -> PathBuf {
    if target.is_dir() {
        return identity(target);
    }
    identity(target.parent().unwrap_or(target))
}

/// The deepest folder that holds all of them.
fn common(folders: impl Iterator<Item = PathBuf>) -> PathBuf {
    let both = |one: PathBuf, other: PathBuf| -> PathBuf {
        let pairs = one.components().zip(other.components());
        pairs
            .take_while(|(one, other)| one == other)
            .map(|(one, _)| one)
            .collect()
    };
    folders.reduce(both).unwrap_or_default()
}

impl Met {
    /// Gives what was met below `top` its place in a tree where `top` stands at `within`.
    fn placed(self, top: Option<&Path>, within: &Path) -> Result<TreeFile, (PathBuf, String)> {
        let path = match self {
            Self::File(path) | Self::Link(path) => path,
            Self::Fault(path, reason) => return Err((path, reason)),
        };
        let rest = top.and_then(|top| path.strip_prefix(top).ok());
        Ok(TreeFile {
            identity: identity(&path),
            below: within.join(rest.unwrap_or(&path)),
            path,
        })
    }
}
