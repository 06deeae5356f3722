//! Lists of names in texts.

use std::fmt::Display;

/// The maximum number of environments that a text names.
const ALL_NAMED: usize = 8;

/// The number of environments that a text names if there are more than [`ALL_NAMED`].
const FIRST_NAMED: usize = 6;

/// Returns the names of environments as one text, such as `prod-eu, prod-us`. A long list is cut.
#[must_use]
pub fn name_list<'n>(names: impl Iterator<Item = &'n str>) -> String {
    let names: Vec<&str> = names.collect();
    match shortened(&names) {
        (named, 0) => named.join(", "),
        (named, more) => format!("{} and {more} more", named.join(", ")),
    }
}

/// Returns the first names, and the number of the others: `a, b and 3 more`.
#[must_use]
pub fn names_and_more<N: Display>(names: impl ExactSizeIterator<Item = N>, most: usize) -> String {
    let more = names.len().saturating_sub(most);
    let named: Vec<String> = names.take(most).map(|name| name.to_string()).collect();
    match more {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

/// Returns names as a list in a sentence: `a, b and c`.
#[must_use]
pub fn sentence_list<N: AsRef<str>>(names: &[N]) -> String {
    let all: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    match all.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        _ => all.concat(),
    }
}

/// Returns the items of a list that a text names, and the number of the others.
#[must_use]
pub fn shortened<T>(items: &[T]) -> (&[T], usize) {
    match items.get(..FIRST_NAMED) {
        Some(first) if items.len() > ALL_NAMED => (first, items.len() - first.len()),
        _ => (items, 0),
    }
}
