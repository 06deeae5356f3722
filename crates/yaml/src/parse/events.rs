//! Reads a document with granit-parser.

use std::sync::Arc;

use granit_parser::{ErrorKind, Parser};

use super::builder::Builder;
use crate::arena::Arena;
use crate::marker::content_start;
use crate::span::Span;
use crate::syntax_error::{SyntaxError, too_many_nodes};

/// Parse error, with what is needed to resolve it.
pub(super) struct Fault {
    pub(super) error: SyntaxError,
    /// Whether a quoted scalar after the cursor has lines that are not indented deeper than its mapping or sequence.
    pub(super) is_outdented: bool,
    /// The end of the last token in the arena. Further tokens may precede the fault.
    pub(super) cursor: usize,
    /// The nodes before the fault.
    pub(super) arena: Arena,
}

/// Fills an arena with the document in `segment` of `text`.
pub(super) fn read(text: &Arc<str>, segment: Span, max_nodes: usize) -> Result<Arena, Box<Fault>> {
    let base = content_start(text, segment);
    let source = Span::new(base, segment.end).slice(text);
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
                    let error = too_many_nodes(base + range.start);
                    return Err(fault(builder, error, false));
                }
            }
            Err(error) => {
                let syntax_error = SyntaxError {
                    offset: base + error.marker().byte_offset().unwrap_or_default(),
                    message: error.info(),
                };
                let is_outdented = matches!(error.kind(), ErrorKind::InvalidQuotedScalarIndent);
                return Err(fault(builder, syntax_error, is_outdented));
            }
        }
    }
    Ok(builder.arena)
}

fn fault(builder: Builder<'_>, error: SyntaxError, is_outdented: bool) -> Box<Fault> {
    Box::new(Fault {
        error,
        is_outdented,
        cursor: builder.cursor,
        arena: builder.arena,
    })
}
