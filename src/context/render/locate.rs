//! Finds what a kustomization names among the files of the set, and the roots of all.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::source::{SourceFile, SourceSet, is_kustomization};
use crate::yaml::{NodeRef, Tree};

/// The file names that kustomize looks for, in this order.
const NAMES: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

/// What an entry of `resources` or `components` stands for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Located<'s> {
    /// A file with objects.
    File(&'s SourceFile),
    /// A folder with this kustomization.
    Kustomization(&'s SourceFile),
    /// A folder without one.
    Folder,
    /// Something to be fetched.
    Remote,
    /// Nothing in the set.
    Missing,
}

/// Looks `entry`, as written in a kustomization of `folder`, up.
pub(super) fn locate<'s>(sources: &'s SourceSet, folder: &str, entry: &str) -> Located<'s> {
    let path = join(sources, folder, entry);
    if let Some(file) = path.as_deref().and_then(|path| sources.file(path)) {
        return Located::File(file);
    }
    if let Some(path) = path.as_deref() {
        if let Some(file) = kustomization_in(sources, path) {
            return Located::Kustomization(file);
        }
        if sources.files_in(path).next().is_some() {
            return Located::Folder;
        }
    }
    if is_remote(entry) {
        Located::Remote
    } else {
        Located::Missing
    }
}

/// Returns the file that `entry`, as written in a kustomization of `folder`, names.
pub(super) fn file<'s>(
    sources: &'s SourceSet,
    folder: &str,
    entry: &str,
) -> Option<&'s SourceFile> {
    sources.file(&join(sources, folder, entry)?)
}

pub(super) fn kustomization_in<'s>(sources: &'s SourceSet, folder: &str) -> Option<&'s SourceFile> {
    let inside = |name: &&str| sources.file(&in_folder(folder, name));
    NAMES.iter().find_map(inside)
}

fn in_folder(folder: &str, name: &str) -> String {
    match folder {
        "" => name.to_owned(),
        "/" => format!("/{name}"),
        _ => format!("{folder}/{name}"),
    }
}

/// URLs and the shorthands of git that kustomize knows (`api/internal/git/repospec.go`).
fn is_remote(entry: &str) -> bool {
    let host = entry.split('/').next().unwrap_or_default();
    entry.contains("://")
        || entry.contains("?ref=")
        || entry.contains(".git")
        || entry.starts_with("git@")
        || entry.starts_with("git::")
        || matches!(host, "github.com" | "gitlab.com" | "bitbucket.org")
}

/// Returns the folder of a file, empty for the working directory.
pub(super) fn folder_of(path: &str) -> &str {
    match path.rsplit_once('/') {
        Some(("", _)) => "/",
        Some((folder, _)) => folder,
        None => "",
    }
}

/// Returns the path that an entry means; `None` for absolute ones, which kustomize refuses.
fn join(sources: &SourceSet, folder: &str, entry: &str) -> Option<String> {
    let is_relative = !entry.is_empty() && !entry.starts_with('/');
    is_relative.then(|| match folder {
        "" => sources.folded(entry),
        _ => sources.folded(&format!("{folder}/{entry}")),
    })
}

/// Returns the content of a kustomization file.
pub(super) fn tree(file: &SourceFile) -> Option<&Tree> {
    file.documents.iter().find_map(|document| document.tree())
}

/// Returns the strings of the list `key`.
pub(super) fn strings<'t>(root: NodeRef<'t>, key: &str) -> Vec<(&'t str, NodeRef<'t>)> {
    let items = root.get(key).into_iter().flat_map(NodeRef::items);
    items
        .filter_map(|item| Some((item.text()?, item)))
        .collect()
}

/// Returns the kustomization files that no other one lists, and of each ring of kustomizations
/// that list each other the first one.
pub(super) fn roots(sources: &SourceSet) -> Vec<Arc<str>> {
    let all: Vec<&SourceFile> = sources
        .files
        .iter()
        .filter(|file| is_kustomization(&file.path))
        .collect();
    let mut listed = BTreeSet::new();
    for file in &all {
        let below = children(sources, file);
        listed.extend(below.into_iter().filter(|child| *child != file.path));
    }
    let mut reached = BTreeSet::new();
    let mut roots = Vec::new();
    let (inner, outer): (Vec<_>, Vec<_>) = all
        .into_iter()
        .partition(|file| listed.contains(&file.path));
    for file in outer.into_iter().chain(inner) {
        if !reached.contains(&file.path) {
            reach(sources, file, &mut reached);
            roots.push(Arc::clone(&file.path));
        }
    }
    roots.sort();
    roots
}

/// Collects a kustomization and all that it takes in.
fn reach(sources: &SourceSet, file: &SourceFile, reached: &mut BTreeSet<Arc<str>>) {
    let mut waiting = vec![Arc::clone(&file.path)];
    while let Some(path) = waiting.pop() {
        if reached.insert(Arc::clone(&path))
            && let Some(file) = sources.file(&path)
        {
            waiting.extend(children(sources, file));
        }
    }
}

/// Returns the kustomizations that a kustomization lists.
fn children(sources: &SourceSet, file: &SourceFile) -> Vec<Arc<str>> {
    let Some(root) = tree(file).and_then(Tree::root) else {
        return Vec::new();
    };
    let folder = folder_of(&file.path);
    ["resources", "bases", "components"]
        .into_iter()
        .flat_map(|key| strings(root, key))
        .filter_map(|(entry, _)| match locate(sources, folder, entry) {
            Located::Kustomization(child) => Some(Arc::clone(&child.path)),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_folded() {
        let sources = SourceSet::default();
        let join = |folder, entry| join(&sources, folder, entry);
        for (folder, entry, path) in [
            ("a/b", "../c", "a/c"),
            ("a", "./x.yaml", "a/x.yaml"),
            ("", "../x", "../x"),
            ("../a", "../../b", "../../b"),
            ("/a", "../../b", "/b"),
            ("a", "..", ""),
        ] {
            assert_eq!(
                join(folder, entry).as_deref(),
                Some(path),
                "{folder} {entry}"
            );
        }
        assert_eq!(join("a", "/etc/passwd"), None);
    }
}
