//! Positions of control planes in their list, which caches store instead of references.

use std::ptr::from_ref;

use meshprobe_mesh::mesh::istio::install::Install;

/// Returns the positions in `all` of selected items, which must be references into it.
pub(in crate::context) fn positions<C: FromIterator<usize>>(
    all: &[Install],
    selected: &[&Install],
) -> C {
    let start = all.as_ptr().addr();
    let position = |plane: &&Install| {
        let offset = from_ref(*plane).addr().checked_sub(start)?;
        let position = offset / size_of::<Install>();
        (position < all.len()).then_some(position)
    };
    selected.iter().filter_map(position).collect()
}

/// Returns the items at these positions.
pub(in crate::context) fn items_at<'a>(
    all: &'a [Install],
    positions: &[usize],
) -> Vec<&'a Install> {
    positions.iter().filter_map(|&at| all.get(at)).collect()
}
