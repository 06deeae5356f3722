//! The similarity of two texts, for suggestions.

/// Returns how many characters must be added, removed, replaced, or swapped with the next one to turn one text into the
/// other (optimal string alignment).
pub(in crate::engine) fn edit_distance(left: &str, right: &str) -> usize {
    let right: Vec<char> = right.chars().collect();
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=right.len()).collect();
    let mut previous = None;
    for (row, own) in left.chars().enumerate() {
        let mut next = vec![row + 1];
        for (column, other) in right.iter().enumerate() {
            let at = |list: &[usize], index: usize| list.get(index).copied().unwrap_or(usize::MAX);
            let replaced = at(&last, column) + usize::from(own != *other);
            let added = at(&next, column) + 1;
            let removed = at(&last, column + 1) + 1;
            let mut best = replaced.min(added).min(removed);
            let other_before = column.checked_sub(1).and_then(|index| right.get(index));
            if previous == Some(*other) && other_before == Some(&own) {
                best = best.min(at(&before, column - 1).saturating_add(1));
            }
            next.push(best);
        }
        before = std::mem::replace(&mut last, next);
        previous = Some(own);
    }
    last.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::edit_distance;

    #[test]
    fn edits_are_counted() {
        for (left, right, wanted) in [
            ("", "", 0),
            ("abc", "", 3),
            ("", "ab", 2),
            ("charts/web", "charts/wbe", 1),
            ("chart/web", "charts/web", 1),
            ("a", "b", 1),
            ("kitten", "sitting", 3),
        ] {
            assert_eq!(edit_distance(left, right), wanted, "{left} {right}");
        }
    }
}
