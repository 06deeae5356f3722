//! The texts of a kustomization that can name a file.

use hashbrown::HashSet;
use meshprobe_tree::source::SourceFile;
use meshprobe_yaml::{NodeRef, Tree};

use crate::kustomize::locate::tree;

/// Iterates over the texts of all keys and values of a kustomization; over nothing if it has no tree.
pub(super) fn texts(kustomization: &SourceFile) -> impl Iterator<Item = &str> {
    text_nodes(kustomization).map(|(text, _)| text)
}

/// Iterates over all keys and values of a kustomization that are texts; over nothing if it has no tree.
pub fn text_nodes(kustomization: &SourceFile) -> impl Iterator<Item = (&str, NodeRef<'_>)> {
    let mut pending: Vec<NodeRef<'_>> = tree(kustomization)
        .and_then(Tree::root)
        .into_iter()
        .collect();
    std::iter::from_fn(move || {
        let node = pending.pop()?;
        pending.extend(node.items());
        for entry in node.entries() {
            pending.push(entry.key);
            pending.push(entry.value);
        }
        Some(node.text().map(|text| (text, node)))
    })
    .flatten()
}

/// Iterates over the names of files that a text may be: the text itself, and the part after the first `=`, because a generator
/// names a file after the key (`key=file`).
pub fn names_in(text: &str) -> impl Iterator<Item = &str> {
    let value = text.split_once('=').map(|(_, name)| name);
    std::iter::once(text).chain(value)
}

/// Returns the last name of a path.
pub(super) fn last_name(path: &str) -> &str {
    let path = path.trim_end_matches('/');
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

/// Returns whether the last name of an entry of a kustomization in `folder` alone shows that it leads to no path with one of
/// these last names. This saves the search for most texts of a kustomization.
pub(super) fn has_other_name(names: &HashSet<&str>, folder: &str, entry: &str) -> bool {
    let name = last_name(entry);
    let folder = folder.trim_end_matches('/');
    let depth = match folder {
        "" => 0,
        _ => 1 + folder.matches('/').count(),
    };
    // A path that leads above the working directory and back into it ends with another name.
    let up = entry.split('/').filter(|part| *part == "..").count();
    let keeps_name = up <= depth && !folder.starts_with("..") && !entry.contains('\\');
    keeps_name && !matches!(name, "" | "." | "..") && !names.contains(name)
}
