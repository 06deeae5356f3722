//! Reads a document with granit-parser.

use std::sync::Arc;

use granit_parser::{ErrorKind, Parser};

use super::builder::Builder;
use super::fault::{Fault, Repair};
use crate::yaml::arena::Arena;
use crate::yaml::marker::byte_order_mark_end;
use crate::yaml::span::Span;
use crate::yaml::syntax_error::{SyntaxError, too_many_nodes};

/// Returns the offset where the content of a document starts, after a byte order mark.
pub(super) fn content_start(text: &str, segment: Span) -> usize {
    segment.start + byte_order_mark_end(segment.slice(text))
}

/// Fills an arena with the document in `segment` of `text`.
pub(super) fn read(text: &Arc<str>, segment: Span, max_nodes: usize) -> Result<Arena, Fault> {
    let base = content_start(text, segment);
    let options = granit_parser::options! { emit_anchor_events: true };
    let mut builder = Builder::new(text, segment, base);
    builder.arena.limit_nodes(max_nodes);
    let source = Span::new(base, segment.end).slice(text);
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
                    return Err(Fault {
                        error: too_many_nodes(base + range.start),
                        repair: None,
                    });
                }
            }
            Err(error) => {
                let offset = base + error.marker().byte_offset().unwrap_or_default();
                let repair = match error.kind() {
                    ErrorKind::InvalidQuotedScalarIndent => Some(Repair::Indent {
                        after: builder.cursor,
                    }),
                    ErrorKind::TabInIndentation => Some(Repair::Tabs { in_quotes: true }),
                    ErrorKind::TabInBlockIndentation | ErrorKind::TabNotAllowed => {
                        Some(Repair::Tabs { in_quotes: false })
                    }
                    _ => None,
                };
                return Err(Fault {
                    error: SyntaxError {
                        offset,
                        message: error.info(),
                    },
                    repair,
                });
            }
        }
    }
    Ok(builder.arena)
}
