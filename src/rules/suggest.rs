//! "Did you mean": edit distance on short names.

/// Tells whether two different names are likely the same one with a slip: two edits at most,
/// and at least half of it right.
#[must_use]
pub(super) fn is_close(typed: &str, known: &str) -> bool {
    let distance = distance(&typed.to_lowercase(), &known.to_lowercase());
    distance <= 2 && distance * 2 <= known.chars().count()
}

/// The Levenshtein distance with transpositions.
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().take(64).collect();
    let b: Vec<char> = b.chars().take(64).collect();
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    let at = |row: &[usize], index: usize| row.get(index).copied().unwrap_or(usize::MAX / 2);
    for (i, from) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, to) in b.iter().enumerate() {
            let change = at(&last, j) + usize::from(from != to);
            let mut best = change.min(at(&last, j + 1) + 1).min(at(&row, j) + 1);
            let swapped = i > 0 && j > 0 && a.get(i - 1) == Some(to) && b.get(j - 1) == Some(from);
            if swapped {
                best = best.min(at(&before, j - 1) + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    at(&last, b.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_close_and_other_words_are_not() {
        assert!(is_close("htpp", "http"));
        assert!(is_close("HTTP", "http"));
        assert!(is_close("metric", "metrics"));
        assert!(!is_close("grpc", "http"));
        assert!(!is_close("a", "b"));
    }
}
