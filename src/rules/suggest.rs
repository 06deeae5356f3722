//! "Did you mean": edit distance on short names.

/// Longer names are compared by their beginning: the distance costs the product of both lengths.
const LONGEST: usize = 64;

/// Tells whether two different names are likely the same one with a slip: two edits at most,
/// and at least half of it right.
#[must_use]
pub(super) fn is_close(typed: &str, known: &str) -> bool {
    let short = |name: &str| -> String { name.to_lowercase().chars().take(LONGEST).collect() };
    let distance = strsim::osa_distance(&short(typed), &short(known));
    distance <= 2 && distance * 2 <= known.chars().count()
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
