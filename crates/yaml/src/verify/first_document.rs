//! The first document of a text, as libyaml reads it.

use serde::Deserialize as _;
use serde::de::IgnoredAny;

use super::brackets::has_too_many_brackets;
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
