//! Reads a document with granit-parser.

use std::sync::Arc;

use granit_parser::{ErrorKind, Parser};

use super::builder::Builder;
use super::fault::{Fault, Repair};
use crate::arena::Arena;
use crate::marker::content_start;
use crate::span::Span;
use crate::syntax_error::{SyntaxError, too_many_nodes};

/// Fills an arena with the document in `segment` of `text`.
pub(super) fn read(text: &Arc<str>, segment: Span, max_nodes: usize) -> Result<Arena, Box<Fault>> {
    let source = Span::new(content_start(text, segment), segment.end).slice(text);
    read_copy(text, segment, source, max_nodes)
}

/// Fills an arena with the document in `segment` of `text`, of which the parser reads a copy of the same length.
pub(super) fn read_copy(
    text: &Arc<str>,
    segment: Span,
    source: &str,
    max_nodes: usize,
) -> Result<Arena, Box<Fault>> {
    let base = content_start(text, segment);
    let options = granit_parser::options! { emit_anchor_events: true };
    let mut builder = Builder::new(text, segment, base);
    builder.arena.limit_nodes(max_nodes);
    for event in Parser::new_from_str_with_options(source, options) {
        match event {
            Ok((event, span)) => {
                let range = span.byte_range().unwrap_or_default();
                let tag = span.tag_span().and_then(|tag| tag.byte_range());
                builder.take(
                    event,
                    Span::new(base + range.start, base + range.end),
                    tag.map(|tag| Span::new(base + tag.start, base + tag.end)),
                );
                if builder.arena.is_full() {
                    return Err(fault(builder, too_many_nodes(base + range.start), None));
                }
            }
            Err(error) => {
                let syntax_error = SyntaxError {
                    offset: base + error.marker().byte_offset().unwrap_or_default(),
                    message: error.info(),
                };
                return Err(fault(builder, syntax_error, repair(error.kind())));
            }
        }
    }
    Ok(builder.arena)
}

fn fault(builder: Builder<'_>, error: SyntaxError, repair: Option<Repair>) -> Box<Fault> {
    Box::new(Fault {
        error,
        repair,
        cursor: builder.cursor,
        arena: builder.arena,
    })
}

/// Returns the change of white space that may resolve an error.
const fn repair(error: &ErrorKind) -> Option<Repair> {
    match error {
        ErrorKind::InvalidQuotedScalarIndent => Some(Repair::Indent),
        ErrorKind::CommentNotSeparated => Some(Repair::Comment),
        ErrorKind::SimpleKeyExpected => Some(Repair::Header),
        ErrorKind::TabInIndentation => Some(Repair::Tabs { in_quotes: true }),
        ErrorKind::TabInBlockIndentation | ErrorKind::TabNotAllowed => {
            Some(Repair::Tabs { in_quotes: false })
        }
        _ => None,
    }
}
