//! The texts of a kustomization that can name a file.

use crate::kustomize::locate::tree;
use crate::source::SourceFile;
use crate::yaml::{NodeRef, Tree};

/// Iterates over the texts of all keys and values of a kustomization; over nothing if it has no tree.
pub(super) fn texts(kustomization: &SourceFile) -> impl Iterator<Item = &str> {
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
        Some(NodeRef::text(node))
    })
    .flatten()
}

/// Iterates over the names of files that a text may be: the text itself, and the part after the first `=`, because a generator
/// names a file after the key (`key=file`).
pub(super) fn names_in(text: &str) -> impl Iterator<Item = &str> {
    let value = text.split_once('=').map(|(_, name)| name);
    std::iter::once(text).chain(value)
}
