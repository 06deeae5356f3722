//! Files that kustomizations list as patches, which are not objects themselves.

use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use hashbrown::{HashMap, HashSet};
use meshprobe_yaml as yaml;
use meshprobe_yaml::{NodeRef, Span, Tree};

use super::classify::{NAMES, is_kustomization};
use super::discover::candidate::Folders;
use super::kustomization_fields::{ListRole, listed};
use super::model::document::Document;
use super::model::file::SourceFile;
use super::model::set::SourceSet;
use crate::filesystem::{FileSystem, without_dots};

/// Number of parent directories that are searched for a kustomization; enough for every known layout.
const LEVELS: usize = 8;

/// Marks the documents of every file that a kustomization uses as a patch. Considers the kustomizations of the
/// set, and those in the directory of a file or its ancestors, up to the root of the repository.
pub fn mark_patches(set: &mut SourceSet, folders: &Folders) {
    let files = &folders.files;
    let patches: Vec<PathBuf> = {
        let read = kustomizations(set);
        directories(set, folders)
            .into_iter()
            .flat_map(|directory| match read.get(directory.as_os_str()) {
                Some(file) => patches_of(file, directory, files),
                None => patches_in(directory, folders),
            })
            .collect()
    };
    let marked = mark(set, &patches, files);
    // The other paths may be links, which only the file system can resolve.
    let linked: Vec<PathBuf> = patches
        .iter()
        .filter(|path| !marked.contains(path.as_os_str()) && files.exists(path))
        .map(|path| files.resolved_or_folded(path))
        .collect();
    mark(set, &linked, files);
}

/// Marks the files with these resolved paths as patches. Returns the paths of marked files.
fn mark<'p>(set: &mut SourceSet, patches: &'p [PathBuf], files: &FileSystem) -> HashSet<&'p OsStr> {
    let patches: HashSet<&OsStr> = patches.iter().map(|patch| patch.as_os_str()).collect();
    let mut found = HashSet::new();
    if patches.is_empty() {
        return found;
    }
    for file in &mut set.files {
        let path = files.resolved_path(file);
        if let Some(patch) = path.and_then(|path| patches.get(path.as_os_str()).copied()) {
            file.set_patch(true);
            found.insert(patch);
        }
    }
    found
}

/// Returns the directories in which kustomizations are searched.
fn directories<'s>(set: &'s SourceSet, folders: &Folders) -> Vec<&'s Path> {
    let mut directories = Vec::new();
    let mut known: HashSet<&OsStr> = HashSet::new();
    let mut previous = None;
    for file in &set.files {
        let directory = file.disk_path.as_deref().and_then(Path::parent);
        // Files are sorted: most are in the same directory as the previous one.
        let Some(directory) = directory.filter(|_| directory != previous) else {
            continue;
        };
        previous = Some(directory);
        for above in directory.ancestors().take(LEVELS) {
            if !known.insert(above.as_os_str()) {
                break;
            }
            directories.push(above);
            if folders.files.is_repository(above) {
                break;
            }
        }
    }
    directories
}

/// Returns the kustomizations of the set by folder; of several in one folder, the one that kustomize
/// searches for first.
fn kustomizations(set: &SourceSet) -> HashMap<&OsStr, &SourceFile> {
    let mut found: HashMap<&OsStr, &SourceFile> = HashMap::new();
    let rank = |file: &SourceFile| NAMES.iter().position(|name| file.path.ends_with(name));
    for file in &set.files {
        let whole = is_kustomization(&file.path) && file.fault.is_none() && file.location.is_some();
        let Some(folder) = file
            .disk_path
            .as_deref()
            .filter(|_| whole)
            .and_then(Path::parent)
        else {
            continue;
        };
        let kept = found.entry(folder.as_os_str()).or_insert(file);
        if rank(file) < rank(kept) {
            *kept = file;
        }
    }
    found
}

/// Returns the resolved paths of the patch files that a kustomization of the set lists.
fn patches_of(file: &SourceFile, directory: &Path, files: &FileSystem) -> Vec<PathBuf> {
    let patches = file
        .documents
        .iter()
        .find_map(Document::any_tree)
        .and_then(Tree::root)
        .into_iter()
        .flat_map(patch_files);
    // Without links on the path of the kustomization, its directory is a resolved path.
    if file.real == file.disk_path {
        patches
            .map(|name| path_in(directory, name, files))
            .collect()
    } else {
        patches
            .map(|name| files.resolved_or_folded(&directory.join(name)))
            .collect()
    }
}

/// Returns the resolved paths of the patch files that the kustomization in `directory` lists, if there is one.
fn patches_in(directory: &Path, folders: &Folders) -> Vec<PathBuf> {
    let files = &folders.files;
    let text = files
        .kustomization_in(directory)
        .map(|path| files.resolved_or_folded(&path))
        .filter(|real| files.is_within(directory, real))
        .and_then(|real| files.read_resolved_text(&real).ok());
    let Some(text) = text else { return Vec::new() };
    let text: Arc<str> = Arc::from(text);
    let Ok(Some(tree)) = yaml::parse_embedded(&text, Span::new(0, text.len())) else {
        return Vec::new();
    };
    let patches = tree.root().into_iter().flat_map(patch_files);
    patches
        .map(|name| files.resolved_or_folded(&directory.join(name)))
        .collect()
}

/// Returns the path of a name in a directory, which is given by its resolved path. Does not resolve a link at the
/// end of the path.
fn path_in(directory: &Path, name: &str, files: &FileSystem) -> PathBuf {
    let path = directory.join(name);
    let parts = Path::new(name).components();
    let mut rest = parts.skip_while(|part| *part == Component::ParentDir);
    // Only the file system knows the parent of a folder that may be a link.
    if rest.any(|part| part == Component::ParentDir) {
        files.resolved_or_folded(&path)
    } else {
        without_dots(&path)
    }
}

/// Returns the paths of the patch files that a kustomization lists, without inline patches.
fn patch_files<'t>(root: NodeRef<'t>) -> impl Iterator<Item = &'t str> {
    listed(root)
        .filter(|entry| entry.role == ListRole::Patch && !entry.text.contains('\n'))
        .map(|entry| entry.text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patch_files_are_listed() {
        let text = "patches:\n- path: a.yaml\n- patch: |-\n    - op: add\n  target: {kind: Pod}\npatchesStrategicMerge:\n- b.yaml\n- |-\n  kind: Pod\n  x: y\npatchesJson6902:\n- {path: c.yaml, target: {kind: Pod}}\n";
        let text: Arc<str> = Arc::from(text);
        let tree = yaml::parse_embedded(&text, Span::new(0, text.len()))
            .unwrap()
            .unwrap();
        let found: Vec<&str> = patch_files(tree.root().unwrap()).collect();
        assert_eq!(found, ["b.yaml", "a.yaml", "c.yaml"]);
    }

    #[test]
    fn kustomizations_are_recognized_by_name() {
        assert!(is_kustomization("a/kustomization.yml"));
        assert!(is_kustomization("Kustomization"));
        assert!(!is_kustomization("a/kustomize.yaml"));
    }
}
