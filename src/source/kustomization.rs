//! Files that a kustomization names as patches: they are no objects of their own.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use crate::yaml::{self, NodeRef, Span};

use super::file::SourceSet;
use super::read::read_text;

/// The file names that kustomize looks for.
pub(super) const NAMES: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// How many directories up a kustomization is looked for; enough for every layout seen.
const LEVELS: usize = 8;

/// Tells whether the path names a kustomization.
#[must_use]
pub fn is_kustomization(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    NAMES.contains(&name)
}

/// Returns the kustomization file in a folder, if there is one.
#[must_use]
pub fn kustomization_in(folder: &Path) -> Option<PathBuf> {
    let mut paths = NAMES.iter().map(|name| folder.join(name));
    paths.find(|path| path.is_file())
}

/// Marks the documents of every file that a kustomization uses as a patch: one of the set, or
/// one in the directory of a file or above it, up to the root of the repository.
pub fn mark_patches(set: &mut SourceSet) {
    let mut directories: BTreeSet<PathBuf> = BTreeSet::new();
    for file in &set.files {
        let Some(directory) = file.lies_at.as_deref().and_then(Path::parent) else {
            continue;
        };
        for above in directory.ancestors().take(LEVELS) {
            let is_new = directories.insert(above.to_path_buf());
            if !is_new || above.join(".git").exists() {
                break;
            }
        }
    }
    let patches: BTreeSet<PathBuf> = directories
        .iter()
        .flat_map(|directory| patches_below(directory))
        .collect();
    if patches.is_empty() {
        return;
    }
    for file in &mut set.files {
        let is_patch = file
            .lies_at
            .as_deref()
            .is_some_and(|path| patches.contains(&identity(path)));
        if is_patch {
            file.set_patch(true);
        }
    }
}

/// The patch files that the kustomization in `directory` names, if there is one.
fn patches_below(directory: &Path) -> Vec<PathBuf> {
    let text = NAMES.iter().find_map(|name| {
        let path = directory.join(name);
        // Never block on a pipe.
        path.is_file().then(|| read_text(&path).ok()).flatten()
    });
    let Some(text) = text else { return Vec::new() };
    patch_files(&text)
        .into_iter()
        .map(|file| identity(&directory.join(file)))
        .collect()
}

/// The values of a kustomization that name patch files, inline patches left out.
fn patch_files(text: &str) -> Vec<String> {
    let text: Arc<str> = Arc::from(text);
    let Ok(Some(tree)) = yaml::parse(&text, Span::new(0, text.len())) else {
        return Vec::new();
    };
    let Some(root) = tree.root() else {
        return Vec::new();
    };
    let items = |key: &str| root.get(key).into_iter().flat_map(NodeRef::items);
    let by_path = items("patches")
        .chain(items("patchesJson6902"))
        .filter_map(|patch| patch.get("path"));
    items("patchesStrategicMerge")
        .chain(by_path)
        .filter_map(NodeRef::text)
        .filter(|file| !file.contains('\n'))
        .map(str::to_owned)
        .collect()
}

/// One spelling per file: links resolved where the file exists, `..` folded otherwise.
pub(super) fn identity(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| folded(path))
}

pub(super) fn folded(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patch_files_are_listed() {
        let text = "patches:\n- path: a.yaml\n- patch: |-\n    - op: add\n  target: {kind: Pod}\npatchesStrategicMerge:\n- b.yaml\n- |-\n  kind: Pod\n  x: y\npatchesJson6902:\n- {path: c.yaml, target: {kind: Pod}}\n";
        assert_eq!(patch_files(text), ["b.yaml", "a.yaml", "c.yaml"]);
        assert_eq!(patch_files("a: ["), Vec::<String>::new());
    }

    #[test]
    fn the_three_names_are_known() {
        assert!(is_kustomization("a/kustomization.yml"));
        assert!(is_kustomization("Kustomization"));
        assert!(!is_kustomization("a/kustomize.yaml"));
    }
}
