//! Patch files that are not applied to any object.

use hashbrown::HashMap;
use meshprobe_tree::source::Document;

use crate::kustomize::Rendering;

/// Returns the documents of `patches` that no rendering applies to one of its objects. A document counts as applied
/// even if it changes nothing, or if later patches remove all of its values.
pub fn unapplied<'d, 'r>(
    mut patches: Vec<&'d Document>,
    renderings: impl Iterator<Item = &'r Rendering>,
) -> Vec<&'d Document> {
    if patches.is_empty() {
        return patches;
    }
    let mut applied: HashMap<&str, Vec<usize>> = HashMap::new();
    for (path, offset) in renderings.flat_map(|rendering| &rendering.applied) {
        applied.entry(path).or_default().push(*offset);
    }
    for offsets in applied.values_mut() {
        offsets.sort_unstable();
    }
    patches.retain(|document| {
        let offsets = applied.get(&*document.path).map_or(&[][..], Vec::as_slice);
        let first = offsets.partition_point(|offset| *offset < document.segment.start);
        offsets
            .get(first)
            .is_none_or(|offset| *offset >= document.segment.end)
    });
    patches
}
