//! Documents that follow `...` without a `---`, or that start in the line of the `---`. YAML 1.2 allows them (9.1.4);
//! kubectl and kustomize split a file at `---` only and read the first document of each part, so they ignore the former
//! without an error. They reject the latter; kustomize accepts it in the first line of a file.

use crate::marker::{is_marker, is_separator};
use crate::span::Span;
use crate::tree::Tree;

use super::kind::{Ambiguity, AmbiguityKind};

/// Returns the first line of a document that kubectl and kustomize do not read.
pub(super) fn find(tree: &Tree) -> Option<Ambiguity> {
    let segment = tree.segment();
    let before = tree.text().get(..segment.start)?;
    if before.is_empty() {
        return value_behind_marker(tree);
    }
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

/// Returns the first line of a file if it has a value behind `---`.
fn value_behind_marker(tree: &Tree) -> Option<Ambiguity> {
    let line = Span::new(0, tree.text().find(['\r', '\n'])?);
    let text = line.slice(tree.text());
    let is_rejected = text.starts_with("---") && !is_separator(text);
    is_rejected.then(|| Ambiguity {
        kind: AmbiguityKind::HiddenSyntax,
        span: line,
        message: "kubectl rejects a value in the line of `---`".to_owned(),
        help: "move the value to the next line",
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
