//! Documents that follow `...` without a `---`. YAML 1.2 allows them (9.1.4); kubectl and kustomize split a file at
//! `---` only and read the first document of each part, so they ignore the text without an error.

use crate::yaml::marker::is_marker;
use crate::yaml::span::Span;
use crate::yaml::tree::Tree;

use super::kind::{Ambiguity, AmbiguityKind};

/// Returns the first line of a document that kubectl and kustomize do not read.
pub(super) fn find(tree: &Tree) -> Option<Ambiguity> {
    let segment = tree.segment();
    let before = tree.text().get(..segment.start)?;
    if !is_marker(before.lines().next_back()?, "...") {
        return None;
    }
    let line = first_line(tree)?;
    let text = line.slice(tree.text());
    if is_marker(text, "---") || text.starts_with('%') {
        return None;
    }
    Some(Ambiguity {
        kind: AmbiguityKind::HiddenSyntax,
        span: line,
        message: "kubectl and kustomize ignore a document that follows `...` without `---`"
            .to_owned(),
        help: "write `---` in the line before the document, or delete the document",
    })
}

/// Returns the first line of a document that is neither blank nor a comment.
fn first_line(tree: &Tree) -> Option<Span> {
    let segment = tree.segment();
    let mut start = segment.start;
    for line in segment.slice(tree.text()).split_inclusive('\n') {
        let text = line.trim();
        if !text.is_empty() && !text.starts_with('#') {
            return Some(Span::new(start, start + line.trim_end().len()));
        }
        start += line.len();
    }
    None
}
