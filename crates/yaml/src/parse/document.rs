//! Parses one document, with the fast parser if that supports it.

use std::sync::Arc;

use super::{builder, outdented_quotes};
use crate::block;
use crate::block::OverLimit;
use crate::span::Span;
use crate::syntax_error::{SyntaxError, too_many_nodes};
use crate::tree::Tree;

/// Parses the document in `segment` of `text`; returns `None` if it has no content.
///
/// The fast parser of this crate reads ordinary block YAML. It leaves everything else, and every
/// fault, to [`parse_fully`]. Both return the same tree.
///
/// # Errors
/// [`SyntaxError`] for anything that is not YAML, nested deeper than 255, or longer than 4 GiB.
pub fn parse(text: &Arc<str>, segment: Span) -> Result<Option<Tree>, SyntaxError> {
    parse_within(text, segment, usize::MAX)
}

/// Parses a document as [`parse`] does, with at most `max_nodes` nodes.
///
/// # Errors
/// As [`parse`]; [`SyntaxError::is_over_limit`] is true for the error of a document that has more nodes.
pub fn parse_within(
    text: &Arc<str>,
    segment: Span,
    max_nodes: usize,
) -> Result<Option<Tree>, SyntaxError> {
    match block::parse_fast_within(text, segment, max_nodes) {
        Ok(Some(tree)) => Ok(Some(tree)),
        Ok(None) => parse_fully_within(text, segment, max_nodes),
        Err(OverLimit) => Err(too_many_nodes(segment.start)),
    }
}

/// Parses a document as [`parse`] does, without the fast parser. Tests compare both results.
///
/// # Errors
/// As [`parse`].
pub fn parse_fully(text: &Arc<str>, segment: Span) -> Result<Option<Tree>, SyntaxError> {
    parse_fully_within(text, segment, usize::MAX)
}

fn parse_fully_within(
    text: &Arc<str>,
    segment: Span,
    max_nodes: usize,
) -> Result<Option<Tree>, SyntaxError> {
    if u32::try_from(segment.end).is_err() {
        return Err(too_large());
    }
    let arena = match builder::read(text, segment, max_nodes) {
        Err(fault) if fault.is_outdented => outdented_quotes::read(text, segment, max_nodes, fault),
        other => other.map_err(|fault| fault.error),
    }?;
    if arena.overflows() {
        return Err(too_large());
    }
    Ok(arena.finish())
}

fn too_large() -> SyntaxError {
    SyntaxError {
        offset: 0,
        message: "the file is larger than 4 GiB".into(),
    }
}
