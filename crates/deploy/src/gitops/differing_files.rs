//! The files that differ between two states of a tree.

use std::cmp::Ordering;
use std::sync::Arc;

use meshprobe_tree::source::{SourceFile, SourceSet};

/// A file in both states of a tree; `None` in a state that does not have it.
pub(super) type States<'s> = (Option<&'s SourceFile>, Option<&'s SourceFile>);

/// Iterates over the files that differ between two states of a tree, or that only one of them has, in the order of their
/// paths.
pub(super) fn differing_files<'s>(
    before: &'s SourceSet,
    after: &'s SourceSet,
) -> impl Iterator<Item = States<'s>> {
    let mut old = before.files.iter().peekable();
    let mut new = after.files.iter().peekable();
    let states = std::iter::from_fn(move || {
        let order = match (old.peek(), new.peek()) {
            (Some(old), Some(new)) => old.path.cmp(&new.path),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => return None,
        };
        let before = old.next_if(|_| order.is_le());
        let after = new.next_if(|_| order.is_ge());
        Some((before, after))
    });
    states.filter(|(before, after)| {
        before
            .zip(*after)
            .is_none_or(|(old, new)| !is_same(old, new))
    })
}

/// Returns whether a file was read once for both states, and is used in the same way.
fn is_same(old: &SourceFile, new: &SourceFile) -> bool {
    let (one, other) = (old.documents.iter(), new.documents.iter());
    let patches = one.map(|document| document.patch);
    Arc::ptr_eq(&old.text, &new.text)
        && old.fault == new.fault
        && old.chart_template == new.chart_template
        && patches.eq(other.map(|document| document.patch))
}
