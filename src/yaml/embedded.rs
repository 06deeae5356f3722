//! YAML text that is a value of another document.
//!
//! Its ambiguous places are errors. Findings and guards report those of whole documents only, and a
//! character that looks like part of a comment in this text can be an escape in the file around it.

use std::sync::Arc;

use super::ambiguity::{Ambiguity, ambiguities, hidden_in_comments};
use super::parse::{SyntaxError, parse_within};
use super::span::Span;
use super::tree::Tree;

/// Limit on the nodes of an embedded text.
const MAX_NODES: usize = 1_000_000;

/// Parses the document of a text that is a value of another document, or a small file of its own.
///
/// # Errors
/// As [`parse`](super::parse()); [`SyntaxError::is_over_limit`] for more than 1,000,000 nodes; the
/// first of the [`ambiguities`], and any content that only YAML 1.1 finds in a text of comments.
pub fn parse_embedded(text: &Arc<str>, segment: Span) -> Result<Option<Tree>, SyntaxError> {
    let tree = parse_within(text, segment, MAX_NODES)?;
    let ambiguous = match &tree {
        Some(tree) => ambiguities(tree).into_iter().next(),
        None => hidden_in_comments(text, segment),
    };
    ambiguous.map_or(Ok(tree), |found| Err(error(found)))
}

fn error(found: Ambiguity) -> SyntaxError {
    SyntaxError {
        offset: found.span.start,
        message: found.message,
    }
}
