//! Memory limit of all renderings of a run.
//!
//! Kustomizations multiply: a few kilobytes can produce millions of objects. The budget counts the estimated
//! bytes of live objects. `limit::STEPS` limits the work.

use meshprobe_tree::source::{Document, MemoryBudget, SourceSet};

use crate::kustomize::origin::OriginMap;
use crate::kustomize::resource::Resource;

/// Bytes that renderings may use for each byte of the files that were read.
const PER_BYTE: usize = 16;
/// Bytes of an object in a kustomization, depending on whether it is still the document of a file.
const INTACT: usize = 256;
const CHANGED: usize = 1_536;
/// Bytes of the predictions and findings for a pod, and of the data of any other object.
pub(crate) const POD: usize = 6 << 10;
pub(crate) const OTHER: usize = 1 << 10;
/// Bytes of a node of a tree with its origin.
const NODE: usize = 64;

/// Memory that renderings use, and its limit.
pub(crate) type Budget = MemoryBudget;

/// Returns the budget of a run.
pub(crate) fn of(sources: &SourceSet) -> Budget {
    Budget::new(limit(sources))
}

fn limit(sources: &SourceSet) -> usize {
    let read: usize = sources.files.iter().map(|file| file.text.len()).sum();
    let ordinary = Budget::FLOOR.max(read.saturating_mul(PER_BYTE));
    sources.max_rendered.unwrap_or(ordinary)
}

/// Estimates the bytes of objects that kustomizations pass on.
pub(crate) fn of_resources(resources: &[Resource]) -> usize {
    let size = |resource: &Resource| if resource.is_intact { INTACT } else { CHANGED };
    resources.iter().map(size).sum()
}

/// Estimates the bytes of a rendered object, and of the analysis results for it.
pub(crate) fn of_document(document: &Document, origin: &OriginMap, is_pod: bool) -> usize {
    let results = if is_pod { POD } else { OTHER };
    // An unchanged document shares the tree of the file.
    let is_changed = !origin.is_same();
    let tree = document
        .tree()
        .filter(|_| is_changed)
        .map_or(0, |tree| tree.segment().len() + tree.node_count() * NODE);
    results + tree
}

#[cfg(test)]
mod tests {
    use crate::kustomize::budget::*;

    #[test]
    fn the_limit_grows_with_the_input() {
        let sources = SourceSet::from_text("a.yaml", "a: b\n");
        assert_eq!(limit(&sources), Budget::FLOOR);
        let sources =
            SourceSet::from_text("a.yaml", &format!("# {}\n", "x".repeat(Budget::FLOOR / 8)));
        assert!(limit(&sources) > Budget::FLOOR);
        let mut sources = sources;
        sources.max_rendered = Some(5);
        assert_eq!(limit(&sources), 5);
    }
}
