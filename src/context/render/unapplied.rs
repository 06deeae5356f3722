//! Patch files that change nothing that is rendered.

use hashbrown::{HashMap, HashSet};

use crate::source::Document;

use super::Rendering;

/// Returns those of some documents of patch files that no rendered object contains.
pub fn unapplied<'d, 'r>(
    mut patches: Vec<&'d Document>,
    renderings: impl Iterator<Item = &'r Rendering>,
) -> Vec<&'d Document> {
    if patches.is_empty() {
        return patches;
    }
    let paths: HashSet<&str> = patches.iter().map(|document| &*document.path).collect();
    let mut applied: HashMap<&str, Vec<usize>> = HashMap::new();
    for one in renderings.flat_map(|one| &one.documents) {
        for (path, start) in one.origin.places_in(|path| paths.contains(path)) {
            applied.entry(path).or_default().push(start);
        }
    }
    for starts in applied.values_mut() {
        starts.sort_unstable();
        starts.dedup();
    }
    patches.retain(|document| {
        let starts = applied.get(&*document.path).map_or(&[][..], Vec::as_slice);
        let first = starts.partition_point(|start| *start < document.segment.start);
        starts
            .get(first)
            .is_none_or(|start| *start >= document.segment.end)
    });
    patches
}
