//! Root kustomizations, grouped by the kustomizations that they share.

use std::sync::Arc;

use meshprobe_tree::source::{ListRole, SourceFile, SourceSet, is_kustomization, listed};

use crate::kustomize::locate::{Located, folder_of, locate};

/// Roots that share kustomizations. No other group includes any of their kustomizations.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Group {
    /// The kustomization files that no other one lists, and the first of each cycle; sorted.
    pub(crate) roots: Vec<Arc<str>>,
    /// All kustomizations, sorted.
    pub(crate) members: Vec<Arc<str>>,
    /// For each member, the positions of the members that list it.
    pub(crate) listed_by: Vec<Vec<usize>>,
    /// Whether members include each other in a cycle, so that what they include depends on where a rendering starts.
    pub(crate) has_cycle: bool,
}

impl Group {
    /// Returns for each member whether it is one of `changed`, or includes one of them.
    pub(crate) fn including(&self, mut changed: Vec<bool>) -> Vec<bool> {
        let mut pending: Vec<usize> = (0..changed.len())
            .filter(|member| changed.get(*member) == Some(&true))
            .collect();
        while let Some(member) = pending.pop() {
            for user in self.listed_by.get(member).into_iter().flatten() {
                let known = changed.get_mut(*user);
                if known.is_some_and(|known| !std::mem::replace(known, true)) {
                    pending.push(*user);
                }
            }
        }
        changed
    }
}

/// Returns the groups of a set.
pub(crate) fn groups(sources: &SourceSet) -> Vec<Group> {
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
    let components = connected(&children);
    let mut positions = Vec::with_capacity(files.len());
    for (file, group) in files.iter().zip(&components) {
        if let Some(group) = groups.get_mut(*group) {
            positions.push(group.members.len());
            group.members.push(Arc::clone(&file.path));
            group.listed_by.push(Vec::new());
        }
    }
    for ((below, &group), &user) in children.iter().zip(&components).zip(&positions) {
        for child in below {
            let member = positions.get(*child).copied().unwrap_or_default();
            let listed_by = groups
                .get_mut(group)
                .and_then(|group| group.listed_by.get_mut(member));
            if let Some(listed_by) = listed_by {
                listed_by.push(user);
            }
        }
    }
    for group in &mut groups {
        group.has_cycle = has_cycle(&group.listed_by);
    }
    for root in roots(&children) {
        let group = components
            .get(root)
            .and_then(|&component| groups.get_mut(component));
        if let (Some(group), Some(file)) = (group, files.get(root)) {
            group.roots.push(Arc::clone(&file.path));
        }
    }
    groups.retain(|group| !group.roots.is_empty());
    groups
}

/// Returns whether the nodes of a graph form a cycle, or one of them lists itself.
fn has_cycle(next: &[Vec<usize>]) -> bool {
    let mut incoming = vec![0_usize; next.len()];
    for node in next.iter().flatten() {
        if let Some(count) = incoming.get_mut(*node) {
            *count += 1;
        }
    }
    let mut free: Vec<usize> = (0..next.len())
        .filter(|node| incoming.get(*node) == Some(&0))
        .collect();
    let mut visited = 0;
    while let Some(node) = free.pop() {
        visited += 1;
        for below in next.get(node).into_iter().flatten() {
            if let Some(count) = incoming.get_mut(*below) {
                *count -= 1;
                if *count == 0 {
                    free.push(*below);
                }
            }
        }
    }
    visited < next.len()
}

/// Returns the nodes that no other one lists, and the first of each cycle, sorted.
fn roots(children: &[Vec<usize>]) -> Vec<usize> {
    let mut listed = vec![false; children.len()];
    for (node, below) in children.iter().enumerate() {
        for child in below.iter().filter(|child| **child != node) {
            if let Some(listed) = listed.get_mut(*child) {
                *listed = true;
            }
        }
    }
    let (inner, outer): (Vec<usize>, Vec<usize>) =
        (0..children.len()).partition(|&node| listed.get(node) == Some(&true));
    let mut reached = vec![false; children.len()];
    let mut roots = Vec::new();
    for root in outer.into_iter().chain(inner) {
        if reached.get(root) == Some(&false) {
            reach(root, children, &mut |node| {
                let known = reached.get_mut(node);
                known.is_some_and(|known| !std::mem::replace(known, true))
            });
            roots.push(root);
        }
    }
    roots.sort_unstable();
    roots
}

/// Returns for each node the first node of its connected component.
fn connected(children: &[Vec<usize>]) -> Vec<usize> {
    let mut neighbours: Vec<Vec<usize>> = children.to_vec();
    for (node, below) in children.iter().enumerate() {
        for child in below {
            if let Some(neighbours) = neighbours.get_mut(*child) {
                neighbours.push(node);
            }
        }
    }
    let mut component: Vec<Option<usize>> = vec![None; children.len()];
    for first in 0..children.len() {
        reach(
            first,
            &neighbours,
            &mut |node| match component.get_mut(node) {
                Some(component @ None) => {
                    *component = Some(first);
                    true
                }
                _ => false,
            },
        );
    }
    component
        .into_iter()
        .enumerate()
        .map(|(node, component)| component.unwrap_or(node))
        .collect()
}

/// Visits all nodes that can be reached from `first`. `visit` returns whether a node is new, and only then are its
/// neighbours visited.
fn reach(first: usize, next: &[Vec<usize>], visit: &mut dyn FnMut(usize) -> bool) {
    let mut pending = vec![first];
    while let Some(node) = pending.pop() {
        if visit(node) {
            pending.extend(next.get(node).into_iter().flatten());
        }
    }
}

/// Returns the positions in `files` of the kustomizations that a kustomization lists.
fn children(sources: &SourceSet, file: &SourceFile, files: &[&SourceFile]) -> Vec<usize> {
    let folder = folder_of(&file.path);
    let is_followed = |role| !matches!(role, ListRole::Patch | ListRole::Settings);
    let entries = file.root().into_iter().flat_map(listed);
    entries
        .filter(|entry| is_followed(entry.role))
        .filter_map(|entry| match locate(sources, folder, entry.text) {
            Located::Kustomization(child) => Some(child),
            _ => None,
        })
        .filter_map(|child| {
            files
                .binary_search_by(|file| file.path.cmp(&child.path))
                .ok()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use crate::kustomize::roots::*;

    #[test]
    fn a_cycle_has_one_root_and_a_shared_base_one_group() {
        // 0 -> 1, 2 -> 1; 3 -> 4 -> 3; 5 lists itself.
        let children = vec![vec![1], vec![], vec![1], vec![4], vec![3], vec![5]];
        assert_eq!(roots(&children), [0, 2, 3, 5]);
        assert_eq!(connected(&children), [0, 0, 0, 3, 3, 5]);
        assert!(has_cycle(&children) && has_cycle(&[vec![0]]));
        assert!(!has_cycle(&children[..3]));
    }

    #[test]
    fn what_includes_a_change_is_changed() {
        // 1 and 2 list 0, 3 lists 2.
        let group = Group {
            listed_by: vec![vec![1, 2], vec![], vec![3], vec![]],
            ..Group::default()
        };
        let changed = |member: usize| group.including((0..4).map(|one| one == member).collect());
        assert_eq!(changed(0), [true; 4]);
        assert_eq!(changed(2), [false, false, true, true]);
        assert_eq!(changed(1), [false, true, false, false]);
    }
}
