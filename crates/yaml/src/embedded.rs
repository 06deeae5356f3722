//! YAML text that is a value of another document.
//!
//! Ambiguities in such a text are errors, because findings and guards report only those of whole documents.

use std::sync::Arc;

use crate::alias_limit::check_expanded_size;
use crate::merge::ambiguities;
use crate::parse::parse_within;
use crate::span::Span;
use crate::syntax_error::SyntaxError;
use crate::tree::Tree;

/// Limit on the nodes of an embedded text.
const MAX_NODES: usize = 1_000_000;

/// Parses the document of a text that is a value of another document, or of a small separate file.
///
/// # Errors
/// As [`parse`](super::parse()); [`SyntaxError::is_over_limit`] for more than 1,000,000 nodes; and the
/// first of the [`ambiguities`].
pub fn parse_embedded(text: &Arc<str>, segment: Span) -> Result<Option<Tree>, SyntaxError> {
    let tree = parse_within(text, segment, MAX_NODES).and_then(check_expanded_size)?;
    match tree
        .as_ref()
        .and_then(|tree| ambiguities(tree).into_iter().next())
    {
        Some(ambiguity) => Err(SyntaxError {
            offset: ambiguity.span.start,
            message: ambiguity.message,
        }),
        None => Ok(tree),
    }
}
