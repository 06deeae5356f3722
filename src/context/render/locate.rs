//! Finds what a kustomization names among the files of the set.

use crate::source::{SourceFile, SourceSet};
use crate::yaml::{NodeRef, Tree};

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
        if let Some(file) = sources.kustomization_in(path) {
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
    is_relative.then(|| sources.joined(folder, entry))
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
            ("a\\xff", "b\\xfe", "a\\xff/b\\x5cxfe"),
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
