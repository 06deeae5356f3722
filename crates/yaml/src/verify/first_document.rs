//! The first document of a text, as libyaml reads it.

use serde::Deserialize as _;
use serde::de::IgnoredAny;

use super::brackets::{self, has_too_many_brackets};
use super::root_keys::Outline;
use crate::marker::without_byte_order_mark;

/// Returns why libyaml rejects the first document of a text that [`check_brackets`](super::check_brackets) accepts; later
/// documents are not read.
#[must_use]
pub fn first_document_error(text: &str) -> Option<String> {
    let text = without_byte_order_mark(text);
    let first = serde_yaml::Deserializer::from_str(text).next()?;
    let error = IgnoredAny::deserialize(first).err()?.to_string();
    // The recursion limit is a limit of the serde parser around libyaml, not of libyaml.
    (!error.contains("recursion limit")).then_some(error)
}

/// Returns the line, counted from 1, of a tab because of which libyaml rejects the first document of a text.
#[must_use]
pub(crate) fn tab_line(text: &str) -> Option<usize> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    // A text with too many brackets is not parsed.
    brackets::check(text).ok()?;
    let first = serde_yaml::Deserializer::from_str(text).next()?;
    let error = IgnoredAny::deserialize(first).err()?;
    let message = error.to_string();
    let is_tab = ["cannot start any token", "found a tab character"]
        .iter()
        .any(|part| message.contains(part));
    error.location().filter(|_| is_tab).map(|at| at.line())
}

/// Returns the string keys that libyaml reads at the root of the first document of a text; `None` if the document is a
/// list or a single value. Values are not built, so aliases do not multiply. A text with too many brackets
/// ([`has_too_many_brackets`]) is not parsed, and has no keys.
#[must_use]
pub fn first_document_keys(text: &str) -> Option<Vec<String>> {
    if has_too_many_brackets(text) {
        return Some(Vec::new());
    }
    let text = without_byte_order_mark(text);
    let first = serde_yaml::Deserializer::from_str(text).next();
    match first.map(Outline::deserialize) {
        Some(Ok(Outline::Mapping(keys))) => Some(keys),
        Some(Ok(Outline::Text(_) | Outline::Other)) => None,
        None | Some(Ok(Outline::Null) | Err(_)) => Some(Vec::new()),
    }
}
