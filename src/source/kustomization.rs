//! Files that a kustomization names as patches: they are no objects of their own.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use hashbrown::{HashMap, HashSet};

use crate::filesystem::canonical;
use crate::yaml::{self, NodeRef, Span, Tree};

use super::boundary::is_within;
use super::document::Document;
use super::file::{Fault, SourceFile, SourceSet};
use super::folders::Folders;
use super::kustomization_fields;
use super::read::read_resolved_text;

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

impl SourceSet {
    /// Returns the kustomization in a folder, written as shown and without `/` at its end. kustomize skips a link to
    /// nothing.
    #[must_use]
    pub fn kustomization_in(&self, folder: &str) -> Option<&SourceFile> {
        let inside = |name: &&str| match folder {
            "" => self.file(name),
            "/" => self.file(&format!("/{name}")),
            _ => self.file(&format!("{folder}/{name}")),
        };
        let mut found = NAMES.iter().filter_map(inside);
        found.find(|file| !matches!(file.fault, Some(Fault::DanglingLink)))
    }
}

/// Marks the documents of every file that a kustomization uses as a patch: one of the set, or
/// one in the directory of a file or above it, up to the root of the repository.
pub fn mark_patches(set: &mut SourceSet, folders: &Folders) {
    let named: Vec<PathBuf> = {
        let read = kustomizations(set);
        let directories = directories(set, folders).into_iter();
        directories
            .flat_map(|directory| match read.get(directory.as_os_str()) {
                Some(file) => patches_of(file, directory),
                None => patches_below(directory, folders),
            })
            .collect()
    };
    let known = mark(set, &named);
    // Only the disk knows where a link leads.
    let rest = named
        .iter()
        .filter(|place| !known.contains(place.as_os_str()) && place.exists());
    let linked: Vec<PathBuf> = rest.map(|place| identity(place)).collect();
    mark(set, &linked);
}

/// Marks the files that lie at one of these places; returns those places.
fn mark<'p>(set: &mut SourceSet, patches: &'p [PathBuf]) -> HashSet<&'p OsStr> {
    let patches: HashSet<&OsStr> = patches.iter().map(|patch| patch.as_os_str()).collect();
    let mut found = HashSet::new();
    if patches.is_empty() {
        return found;
    }
    for file in &mut set.files {
        let place = place_of(file);
        if let Some(patch) = place.and_then(|place| patches.get(place.as_os_str()).copied()) {
            file.set_patch(true);
            found.insert(patch);
        }
    }
    found
}

/// The folders to look for kustomizations in.
fn directories<'s>(set: &'s SourceSet, folders: &Folders) -> Vec<&'s Path> {
    let mut directories = Vec::new();
    let mut known: HashSet<&OsStr> = HashSet::new();
    let mut before = None;
    for file in &set.files {
        let directory = file.lies_at.as_deref().and_then(Path::parent);
        // Files are sorted: most lie beside the one before.
        let Some(directory) = directory.filter(|_| directory != before) else {
            continue;
        };
        before = Some(directory);
        for above in directory.ancestors().take(LEVELS) {
            if !known.insert(above.as_os_str()) {
                break;
            }
            directories.push(above);
            if folders.is_repository(above) {
                break;
            }
        }
    }
    directories
}

/// The kustomizations that are read already, by their folders; of several the one that kustomize
/// looks for first.
fn kustomizations(set: &SourceSet) -> HashMap<&OsStr, &SourceFile> {
    let mut found: HashMap<&OsStr, &SourceFile> = HashMap::new();
    let rank = |file: &SourceFile| NAMES.iter().position(|name| file.path.ends_with(name));
    for file in &set.files {
        let whole = is_kustomization(&file.path) && file.fault.is_none() && file.location.is_some();
        let Some(folder) = file
            .lies_at
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

/// Where a file lies, in its one spelling.
pub(super) fn place_of(file: &SourceFile) -> Option<Cow<'_, Path>> {
    match &file.real {
        Some(real) => Some(Cow::Borrowed(real)),
        None => Some(Cow::Owned(identity(file.lies_at.as_deref()?))),
    }
}

/// The patch files that a kustomization of the set names.
fn patches_of(file: &SourceFile, directory: &Path) -> Vec<PathBuf> {
    let tree = file.documents.iter().find_map(Document::any_tree);
    let root = tree.and_then(Tree::root);
    let named = root.map(patch_files).unwrap_or_default().into_iter();
    // Where no link led to the kustomization, the one spelling of its directory is known.
    if file.real == file.lies_at {
        named.map(|name| place_in(directory, name)).collect()
    } else {
        named.map(|name| identity(&directory.join(name))).collect()
    }
}

/// The patch files that the kustomization in `directory` names, if there is one.
fn patches_below(directory: &Path, folders: &Folders) -> Vec<PathBuf> {
    let file = folders.kustomization_in(directory);
    let file = file.map(|path| identity(&path));
    let within = file.filter(|real| is_within(directory, real));
    let text = within.and_then(|real| read_resolved_text(&real).ok());
    let Some(text) = text else { return Vec::new() };
    let text: Arc<str> = Arc::from(text);
    let Ok(Some(mut tree)) = yaml::parse_embedded(&text, Span::new(0, text.len())) else {
        return Vec::new();
    };
    kustomization_fields::normalize(&mut tree);
    let named = tree.root().map(patch_files).unwrap_or_default().into_iter();
    named.map(|name| identity(&directory.join(name))).collect()
}

/// Where a name in a directory leads; the directory is given by its one spelling, and a link at the
/// end of the way is not followed yet.
fn place_in(directory: &Path, name: &str) -> PathBuf {
    let path = directory.join(name);
    let parts = Path::new(name).components();
    let mut further = parts.skip_while(|part| *part == Component::ParentDir);
    // What `..` means behind a folder, only the disk knows.
    if further.any(|part| part == Component::ParentDir) {
        identity(&path)
    } else {
        folded(&path)
    }
}

/// Returns the values of a kustomization that name patch files, inline patches left out.
#[must_use]
pub fn patch_files(root: NodeRef<'_>) -> Vec<&str> {
    let items = |key: &str| root.get(key).into_iter().flat_map(NodeRef::items);
    let by_path = items("patches")
        .chain(items("patchesJson6902"))
        .filter_map(|patch| patch.get("path"));
    items("patchesStrategicMerge")
        .chain(by_path)
        .filter_map(NodeRef::text)
        .filter(|file| !file.contains('\n'))
        .collect()
}

/// One spelling per file: links resolved where the file exists, `..` folded otherwise.
pub(super) fn identity(path: &Path) -> PathBuf {
    canonical(path).unwrap_or_else(|_| folded(path))
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
        let text: Arc<str> = Arc::from(text);
        let tree = yaml::parse_embedded(&text, Span::new(0, text.len()))
            .unwrap()
            .unwrap();
        assert_eq!(
            patch_files(tree.root().unwrap()),
            ["b.yaml", "a.yaml", "c.yaml"]
        );
    }

    #[test]
    fn the_three_names_are_known() {
        assert!(is_kustomization("a/kustomization.yml"));
        assert!(is_kustomization("Kustomization"));
        assert!(!is_kustomization("a/kustomize.yaml"));
    }
}
