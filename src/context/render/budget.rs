//! What all renderings of a run may hold in memory.
//!
//! Kustomizations multiply: a few kilobytes of them stand for millions of objects. What is counted is what is
//! alive, in estimated bytes; how much work it was to make does not matter here.

use crate::source::{Document, MemoryBudget, SourceSet};

use super::origin::OriginMap;
use super::resource::Resource;

/// What renderings may hold for each byte of the files that were read.
const PER_BYTE: usize = 16;
/// An object on its way through a kustomization, by whether it is still the document of a file.
const INTACT: usize = 256;
const CHANGED: usize = 1_536;
/// What is predicted and found about a pod, and what is kept of any other object.
pub(super) const POD: usize = 6 << 10;
pub(super) const OTHER: usize = 1 << 10;
/// A node of a tree, and its place in the files.
const NODE: usize = 64;

/// The memory that renderings hold, and may hold.
pub(super) type Budget = MemoryBudget;

/// Returns the budget of a run.
pub(super) fn of(sources: &SourceSet) -> Budget {
    Budget::new(limit(sources))
}

fn limit(sources: &SourceSet) -> usize {
    let read: usize = sources.files.iter().map(|file| file.text.len()).sum();
    let ordinary = Budget::FLOOR.max(read.saturating_mul(PER_BYTE));
    sources.max_rendered.unwrap_or(ordinary)
}

/// Estimates what objects hold while kustomizations pass them on.
pub(super) fn of_resources(resources: &[Resource]) -> usize {
    let one = |resource: &Resource| if resource.is_intact { INTACT } else { CHANGED };
    resources.iter().map(one).sum()
}

/// Estimates what a rendered object holds, and what is worked out about it.
pub(super) fn of_document(document: &Document, origin: &OriginMap, is_pod: bool) -> usize {
    let judged = if is_pod { POD } else { OTHER };
    // A document that nothing changes is the one of the file.
    let own = !origin.is_same();
    let tree = document.tree().filter(|_| own);
    let tree = tree.map_or(0, |tree| tree.segment().len() + tree.node_count() * NODE);
    judged + tree
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_input_may_hold_more() {
        let sources = SourceSet::from_text("a.yaml", "a: b\n");
        assert_eq!(limit(&sources), Budget::FLOOR);
        let sources =
            SourceSet::from_text("a.yaml", &format!("# {}\n", "x".repeat(Budget::FLOOR / 8)));
        assert!(limit(&sources) > Budget::FLOOR);
        let sources = SourceSet {
            max_rendered: Some(5),
            ..sources
        };
        assert_eq!(limit(&sources), 5);
    }
}
