//! Parses texts that edits produce.

use std::sync::Arc;

use crate::marker::with_marker;
use crate::parse::parse;
use crate::span::Span;
use crate::tree::Tree;

/// Parses the text of one document of a file. It may start with a separator that splits only the whole file.
pub(super) fn reparse(text: &str) -> Option<Tree> {
    let text = Arc::from(with_marker(text));
    let segment = Span::new(0, str::len(&text));
    parse(&text, segment).ok().flatten()
}
