//! Places that kubectl, kustomize and this tool read differently.
//!
//! kubectl reads YAML through sigs.k8s.io/yaml (go-yaml 2), kustomize through go-yaml 3, both of
//! libyaml's line and of YAML 1.1. Where they differ from each other or from the rules of YAML 1.2,
//! no reading is right, so nothing is predicted from it without a warning, and nothing is edited.

mod document_end;
mod hidden_syntax;
mod merge_limit;
mod merge_order;
mod tag;

use super::span::Span;
use super::tree::{NodeRef, Tree};

/// What makes a place ambiguous.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AmbiguityKind {
    /// A character that ends a line in YAML 1.1 and is text in YAML 1.2, another mark that only one
    /// of the parsers takes for syntax, or a document that kubectl and kustomize ignore.
    HiddenSyntax,
    /// Merge keys that nest deeper, or name more mappings, than they are followed.
    MergeLimit,
    /// A merge key behind a key that it overrides with another value.
    MergeOrder,
    /// A tag that changes the value of a scalar for some readers.
    Tag,
}

/// A place that has more than one reading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ambiguity {
    /// What makes it ambiguous.
    pub kind: AmbiguityKind,
    /// The bytes of the file to point at.
    pub span: Span,
    /// The readings, in one sentence.
    pub message: String,
    /// What to do.
    pub help: &'static str,
}

/// Returns the ambiguous places of a document, in the order of the text.
///
/// The text is only scanned for what can be ambiguous; the second parser reads the document where
/// that scan finds something.
#[must_use]
pub fn ambiguities(tree: &Tree) -> Vec<Ambiguity> {
    let mut found = Vec::new();
    found.extend(document_end::find(tree));
    found.extend(hidden_syntax::find(tree));
    match merge_limit::find(tree) {
        Some(limit) => found.push(limit),
        None => found.extend(merge_order::find(tree)),
    }
    found.extend(tag::find(tree));
    found.sort_by_key(|one| one.span);
    found
}

/// Returns where the merge keys of a document exceed the limits up to which they are followed.
#[must_use]
pub fn merge_limit(tree: &Tree) -> Option<Ambiguity> {
    merge_limit::find(tree)
}

/// Returns where merge keys at the root of a document exceed the limits up to which they are followed, so that it is not
/// known which keys the document has.
#[must_use]
pub fn merge_limit_at_root(tree: &Tree) -> Option<Ambiguity> {
    merge_limit::find_at_root(tree)
}

/// Returns the first key at the root of a document that is one of `keys` after kubectl has decoded it.
#[must_use]
pub fn encoded_key(tree: &Tree, keys: &[&str]) -> Option<Ambiguity> {
    tag::find_root_key(tree, keys)
}

/// Returns where a document becomes a mapping with `keys` for kubectl and kustomize that has no such mapping at its
/// root in YAML 1.2; `tree` is `None` for a document of comments.
#[must_use]
pub fn hidden_mapping(
    text: &str,
    segment: Span,
    tree: Option<&Tree>,
    keys: &[&str],
) -> Option<Ambiguity> {
    hidden_syntax::find_mapping(text, segment, tree, keys)
}

/// Returns where a text without content in YAML 1.2 has content for kubectl and kustomize.
#[must_use]
pub fn hidden_in_comments(text: &str, segment: Span) -> Option<Ambiguity> {
    hidden_syntax::find_in_comments(text, segment)
}

/// Returns the source of a node in one line for a message.
fn shown(node: NodeRef<'_>) -> String {
    let source = node.resolved().source();
    let line = source.lines().next().unwrap_or_default().trim_end();
    let short: String = line.chars().take(60).collect();
    if short.len() == source.len() {
        format!("`{short}`")
    } else {
        format!("`{short}…`")
    }
}

#[cfg(test)]
mod tests;
