//! Patch files that are applied to no object.

use hashbrown::HashMap;

use crate::source::Document;

use super::Rendering;

/// Returns those of some documents of patch files that no rendering applies to an object which it contains. One
/// that is applied counts even if it changes nothing, or if later patches remove all of its values.
pub fn unapplied<'d, 'r>(
    mut patches: Vec<&'d Document>,
    renderings: impl Iterator<Item = &'r Rendering>,
) -> Vec<&'d Document> {
    if patches.is_empty() {
        return patches;
    }
    let mut applied: HashMap<&str, Vec<usize>> = HashMap::new();
    for (path, at) in renderings.flat_map(|one| &one.applied) {
        applied.entry(path).or_default().push(*at);
    }
    for places in applied.values_mut() {
        places.sort_unstable();
    }
    patches.retain(|document| {
        let places = applied.get(&*document.path).map_or(&[][..], Vec::as_slice);
        let first = places.partition_point(|at| *at < document.segment.start);
        places
            .get(first)
            .is_none_or(|at| *at >= document.segment.end)
    });
    patches
}
