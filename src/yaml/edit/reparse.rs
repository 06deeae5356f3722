//! Parses texts that edits produce.

use std::sync::Arc;

use crate::yaml::parse::parse;
use crate::yaml::span::Span;
use crate::yaml::tree::Tree;

/// Parses the text of one document.
pub(super) fn reparse(text: &str) -> Option<Tree> {
    let text = Arc::from(text);
    let segment = Span::new(0, str::len(&text));
    parse(&text, segment).ok().flatten()
}
