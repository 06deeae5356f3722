//! YAML text that is a value of another document.
//!
//! Ambiguities in such a text are errors. Findings and guards report only those of whole documents, and a
//! character that looks like part of a comment in this text can be an escape in the file that contains it.

use std::sync::Arc;

use super::ambiguity::{Ambiguity, ambiguities, hidden_in_comments};
use super::parse::parse_within;
use super::span::Span;
use super::syntax_error::SyntaxError;
use super::tree::Tree;

/// Limit on the nodes of an embedded text.
const MAX_NODES: usize = 1_000_000;

/// Parses the document of a text that is a value of another document, or of a small separate file.
///
/// # Errors
/// As [`parse`](super::parse()); [`SyntaxError::is_over_limit`] for more than 1,000,000 nodes; the
/// first of the [`ambiguities`]; and content that only YAML 1.1 finds in a text of comments.
pub fn parse_embedded(text: &Arc<str>, segment: Span) -> Result<Option<Tree>, SyntaxError> {
    let tree = parse_within(text, segment, MAX_NODES)?;
    let ambiguity = match &tree {
        Some(tree) => ambiguities(tree).into_iter().next(),
        None => hidden_in_comments(text, segment),
    };
    ambiguity.map_or(Ok(tree), |ambiguity| Err(error(ambiguity)))
}

fn error(ambiguity: Ambiguity) -> SyntaxError {
    SyntaxError {
        offset: ambiguity.span.start,
        message: ambiguity.message,
    }
}
