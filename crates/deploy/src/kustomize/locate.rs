//! Resolves the paths of a kustomization to files of the set.

use std::collections::BTreeSet;

use meshprobe_tree::source::{ListRole, SourceFile, SourceSet, listed, placeholder};
use meshprobe_yaml::NodeRef;

/// Target of an entry of `resources` or `components`.
#[derive(Clone, Copy, Debug)]
pub enum Located<'s> {
    /// A file with objects.
    File(&'s SourceFile),
    /// A folder with this kustomization.
    Kustomization(&'s SourceFile),
    /// A folder without a kustomization.
    Folder,
    /// A remote target, which would have to be fetched.
    Remote,
    /// A target that is not in the set, or does not exist.
    Missing,
}

/// Returns the target of `entry` in a kustomization of `folder`.
pub fn locate<'s>(sources: &'s SourceSet, folder: &str, entry: &str) -> Located<'s> {
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
    match is_remote(entry) {
        true => Located::Remote,
        false => Located::Missing,
    }
}

/// Returns the path of a local entry that does not exist. An entry that another tool fills in, or that may name a
/// repository, may exist.
pub(crate) fn absent_path(sources: &SourceSet, folder: &str, entry: &str) -> Option<String> {
    let may_exist = entry.contains("//") || is_remote(entry) || placeholder::contains(entry);
    let path = join(sources, folder, entry).filter(|_| !may_exist)?;
    sources.absent.contains(&path).then_some(path)
}

/// Returns the file that `entry` in a kustomization of `folder` names.
pub(crate) fn file<'s>(
    sources: &'s SourceSet,
    folder: &str,
    entry: &str,
) -> Option<&'s SourceFile> {
    sources.file(&join(sources, folder, entry)?)
}

/// Returns whether `entry` is a URL or a shorthand for a git repository that kustomize accepts
/// (`api/internal/git/repospec.go`).
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
pub fn folder_of(path: &str) -> &str {
    match path.rsplit_once('/') {
        Some(("", _)) => "/",
        Some((folder, _)) => folder,
        None => "",
    }
}

/// Returns the path of an entry; `None` for absolute ones, which kustomize refuses.
fn join(sources: &SourceSet, folder: &str, entry: &str) -> Option<String> {
    let is_relative = !entry.is_empty() && !entry.starts_with('/');
    is_relative.then(|| sources.joined(folder, entry))
}

/// Returns the strings of the list `key`.
pub(crate) fn strings<'t>(root: NodeRef<'t>, key: &str) -> Vec<(&'t str, NodeRef<'t>)> {
    root.get(key)
        .into_iter()
        .flat_map(NodeRef::items)
        .filter_map(|item| Some((item.text()?, item)))
        .collect()
}

#[cfg(test)]
mod tests {
    use crate::kustomize::locate::*;

    #[test]
    fn dots_in_paths_are_resolved() {
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
        let folder = folder_of(&kustomization.path);
        for entry in kustomization.root().into_iter().flat_map(listed) {
            let is_patch = entry.role == ListRole::Patch;
            if !is_patch && !entry.role.is_included() {
                continue;
            }
            match locate(sources, folder, entry.text) {
                Located::File(file) => {
                    self.files.insert(&file.path);
                }
                Located::Kustomization(inner) if !is_patch => pending.push(inner),
                _ => {}
            }
        }
    }

    /// Iterates over all files.
    pub fn all(&self) -> impl Iterator<Item = &'s str> {
        self.kustomizations.iter().chain(&self.files).copied()
    }
}
