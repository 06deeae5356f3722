//! The patterns by which a pasted text is recognized.

/// How much a text says about the cause of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Specificity {
    /// The state of a pod or container, such as `CrashLoopBackOff`.
    State,
    /// An event without its reason, such as `Startup probe failed`.
    Event,
    /// The error that the kubelet, the API server or the agent prints.
    Error,
    /// An error that names its place, such as the port of the agent.
    Place,
}

/// A pattern: texts that a line contains in this order.
#[derive(Clone, Copy, Debug)]
pub struct Pattern {
    /// How much the texts say about the cause.
    pub specificity: Specificity,
    /// The texts, in the form that [`normal_line`](super::normal_line) returns.
    pub fragments: &'static [&'static str],
}

impl Pattern {
    /// Returns the number of bytes of the fragments: of two patterns that match, the longer one is more specific.
    #[must_use]
    pub fn len(&self) -> usize {
        self.fragments.iter().map(|fragment| fragment.len()).sum()
    }

    /// Returns whether the pattern has no fragments, so that it would match every line.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.fragments.is_empty()
    }

    /// Returns whether a line in normal form contains the fragments in order. `distance` limits the number of bytes
    /// between two of them.
    pub(super) fn matches(&self, line: &str, distance: Option<usize>) -> bool {
        let Some((first, others)) = self.fragments.split_first() else {
            return false;
        };
        let mut starts = whole_matches(line, first).map(|at| at + first.len());
        let from = |start: usize| follow(line.get(start..).unwrap_or_default(), others, distance);
        match distance {
            // Without a limit, the first occurrence decides; trying all would be quadratic.
            None => starts.next().is_some_and(from),
            Some(_) => starts.any(from),
        }
    }
}

/// Returns whether the fragments follow each other in a text.
fn follow(mut text: &str, fragments: &[&str], distance: Option<usize>) -> bool {
    fragments.iter().all(|fragment| {
        let window = match distance {
            Some(distance) => start_of(text, distance + fragment.len()),
            None => text,
        };
        let Some(at) = whole_matches(window, fragment).next() else {
            return false;
        };
        text = text.get(at + fragment.len()..).unwrap_or_default();
        true
    })
}

/// Returns where a text contains a fragment. A fragment that ends with a number does not match the start of a longer one.
fn whole_matches(text: &str, fragment: &str) -> impl Iterator<Item = usize> {
    let is_digit = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_digit);
    let ends_with_number = is_digit(fragment.as_bytes().last());
    text.match_indices(fragment).filter_map(move |(at, _)| {
        let next = text.as_bytes().get(at + fragment.len());
        (!ends_with_number || !is_digit(next)).then_some(at)
    })
}

/// Returns the first bytes of a text, at most `length`, without a part of a character.
fn start_of(text: &str, length: usize) -> &str {
    let mut end = length.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    text.get(..end).unwrap_or_default()
}
