//! Searches documents for ambiguities.

use super::kind::Ambiguity;
use super::{document_end, hidden_syntax, merge_order, tag};
use crate::span::Span;
use crate::tree::Tree;

/// Returns the ambiguities of a document, in the order of the text.
///
/// Scans the text for characters that may be ambiguous. The second parser reads the document only if
/// that scan finds one.
#[must_use]
pub fn ambiguities(tree: &Tree) -> Vec<Ambiguity> {
    let mut found = Vec::new();
    found.extend(document_end::find(tree));
    found.extend(hidden_syntax::find(tree));
    match super::merge_limit::find(tree) {
        Some(limit) => found.push(limit),
        None => found.extend(merge_order::find(tree)),
    }
    found.extend(tag::find(tree));
    found.sort_by_key(|ambiguity| ambiguity.span);
    found
}

/// Returns the first mapping of a document whose merge keys exceed the limits.
#[must_use]
pub fn merge_limit(tree: &Tree) -> Option<Ambiguity> {
    super::merge_limit::find(tree)
}

/// Returns the merge key at the root of a document if it exceeds the limits, so that the keys of the document are not
/// known.
#[must_use]
pub fn merge_limit_at_root(tree: &Tree) -> Option<Ambiguity> {
    super::merge_limit::find_at_root(tree)
}

/// Returns the first encoded key at the root of a document that kubectl decodes to one of `keys`.
#[must_use]
pub fn encoded_key(tree: &Tree, keys: &[&str]) -> Option<Ambiguity> {
    tag::find_root_key(tree, keys)
}

/// Returns the character that makes kubectl and kustomize read a mapping with `keys` at the root of a document, while
/// YAML 1.2 does not read one. `tree` is `None` for a document of comments.
#[must_use]
pub fn hidden_mapping(
    text: &str,
    segment: Span,
    tree: Option<&Tree>,
    keys: &[&str],
) -> Option<Ambiguity> {
    hidden_syntax::find_mapping(text, segment, tree, keys)
}

/// Returns the character that makes kubectl and kustomize read content in a text that has none in YAML 1.2.
#[must_use]
pub fn hidden_in_comments(text: &str, segment: Span) -> Option<Ambiguity> {
    hidden_syntax::find_in_comments(text, segment)
}
