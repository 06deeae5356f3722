//! "Did you mean" suggestions: the edit distance of short names.

/// Only this many characters of a name are compared: the cost of the distance is the product of both lengths.
const LONGEST: usize = 64;

/// Returns whether `typed` is probably a misspelling of `known`: at most two edits, and at least half of the
/// name correct.
#[must_use]
pub(in crate::rules) fn is_close(typed: &str, known: &str) -> bool {
    let prefix = |name: &str| -> String { name.to_lowercase().chars().take(LONGEST).collect() };
    let distance = strsim::osa_distance(&prefix(typed), &prefix(known));
    distance <= 2 && distance * 2 <= known.chars().count()
}

/// Returns whether a key with a domain is probably a misspelling of a known one. The domain and the name are
/// compared separately, because the domain is the larger part of a long key.
#[must_use]
pub(in crate::rules) fn is_close_key(key: &str, known: &str) -> bool {
    match (key.split_once('/'), known.split_once('/')) {
        (Some((domain, name)), Some((known_domain, known_name))) if domain == known_domain => {
            is_close(name, known_name)
        }
        (Some((domain, name)), Some((known_domain, known_name))) => {
            name == known_name && is_close(domain, known_domain)
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn misspellings_are_close_and_other_words_are_not() {
        assert!(is_close("htpp", "http"));
        assert!(is_close("HTTP", "http"));
        assert!(is_close("metric", "metrics"));
        assert!(!is_close("grpc", "http"));
        assert!(!is_close("a", "b"));
    }
}
