//! Which kustomizations nothing else takes in, and which of them have others in common.

use std::sync::Arc;

use crate::source::{SourceFile, SourceSet, is_kustomization};
use crate::yaml::Tree;

use super::locate::{Located, folder_of, locate, strings, tree};

/// Roots that take in kustomizations of each other; what they take in no other group does.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Group {
    /// The kustomization files that no other one lists, and of each ring of kustomizations that list
    /// each other the first one; sorted.
    pub(super) roots: Vec<Arc<str>>,
    /// How many kustomizations there are in all.
    pub(super) size: usize,
}

/// Returns the groups of a set.
pub(super) fn groups(sources: &SourceSet) -> Vec<Group> {
    let files: Vec<&SourceFile> = sources
        .files
        .iter()
        .filter(|file| is_kustomization(&file.path))
        .collect();
    let children: Vec<Vec<usize>> = files
        .iter()
        .map(|file| children(sources, file, &files))
        .collect();
    let mut groups: Vec<Group> = Vec::new();
    groups.resize_with(files.len(), Group::default);
    let top = connected(&children);
    for group in top.iter().copied() {
        if let Some(group) = groups.get_mut(group) {
            group.size += 1;
        }
    }
    for root in roots(&children) {
        let group = top.get(root).and_then(|&top| groups.get_mut(top));
        if let (Some(group), Some(file)) = (group, files.get(root)) {
            group.roots.push(Arc::clone(&file.path));
        }
    }
    groups.retain(|group| !group.roots.is_empty());
    groups
}

/// Returns those that no other one lists, and of each ring the first, sorted.
fn roots(children: &[Vec<usize>]) -> Vec<usize> {
    let mut listed = vec![false; children.len()];
    for (one, below) in children.iter().enumerate() {
        for child in below.iter().filter(|child| **child != one) {
            if let Some(listed) = listed.get_mut(*child) {
                *listed = true;
            }
        }
    }
    let (inner, outer): (Vec<usize>, Vec<usize>) =
        (0..children.len()).partition(|&one| listed.get(one) == Some(&true));
    let mut reached = vec![false; children.len()];
    let mut roots = Vec::new();
    for one in outer.into_iter().chain(inner) {
        if reached.get(one) == Some(&false) {
            reach(one, children, &mut |one| {
                let known = reached.get_mut(one);
                known.is_some_and(|known| !std::mem::replace(known, true))
            });
            roots.push(one);
        }
    }
    roots.sort_unstable();
    roots
}

/// Returns for each the first one that it has anything to do with.
fn connected(children: &[Vec<usize>]) -> Vec<usize> {
    let mut both: Vec<Vec<usize>> = children.to_vec();
    for (one, below) in children.iter().enumerate() {
        for child in below {
            if let Some(back) = both.get_mut(*child) {
                back.push(one);
            }
        }
    }
    let mut top: Vec<Option<usize>> = vec![None; children.len()];
    for first in 0..children.len() {
        reach(first, &both, &mut |one| match top.get_mut(one) {
            Some(top @ None) => {
                *top = Some(first);
                true
            }
            _ => false,
        });
    }
    let each = top.into_iter().enumerate();
    each.map(|(one, top)| top.unwrap_or(one)).collect()
}

/// Goes from `first` to all that can be reached, as long as `is_new` says so.
fn reach(first: usize, next: &[Vec<usize>], is_new: &mut dyn FnMut(usize) -> bool) {
    let mut waiting = vec![first];
    while let Some(one) = waiting.pop() {
        if is_new(one) {
            waiting.extend(next.get(one).into_iter().flatten());
        }
    }
}

/// Returns the kustomizations that a kustomization lists, by their places in `files`.
fn children(sources: &SourceSet, file: &SourceFile, files: &[&SourceFile]) -> Vec<usize> {
    let Some(root) = tree(file).and_then(Tree::root) else {
        return Vec::new();
    };
    let folder = folder_of(&file.path);
    let entries = ["resources", "bases", "components"].into_iter();
    let located = entries
        .flat_map(|key| strings(root, key))
        .filter_map(|(entry, _)| match locate(sources, folder, entry) {
            Located::Kustomization(child) => Some(child),
            _ => None,
        });
    located
        .filter_map(|child| {
            let at = files.binary_search_by(|file| file.path.cmp(&child.path));
            at.ok()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rings_have_one_root_and_shared_bases_one_group() {
        // 0 -> 1, 2 -> 1; 3 -> 4 -> 3; 5 lists itself.
        let children = vec![vec![1], vec![], vec![1], vec![4], vec![3], vec![5]];
        assert_eq!(roots(&children), [0, 2, 3, 5]);
        assert_eq!(connected(&children), [0, 0, 0, 3, 3, 5]);
    }
}
