//! JSON with U+007F (delete) in its strings. JSON permits this character, and kubectl reads JSON as such; granit-parser
//! and libyaml reject it.

use std::sync::Arc;

use serde::de::IgnoredAny;

use crate::arena::Arena;
use crate::marker::content_start;
use crate::span::Span;

use super::events;
use super::fault::Fault;
use super::json_string::DELETE;

/// Reads a JSON document with U+007F in its strings; returns `None` for any other document.
///
/// The parser reads a copy with tabs in place of the characters: JSON strings do not contain tabs, and positions stay the
/// same.
pub(super) fn read(
    text: &Arc<str>,
    segment: Span,
    max_nodes: usize,
) -> Option<Result<Arena, Box<Fault>>> {
    let source = Span::new(content_start(text, segment), segment.end).slice(text);
    memchr::memchr(DELETE, source.as_bytes())?;
    serde_json::from_str::<IgnoredAny>(source).ok()?;
    let copy = source.replace(char::from(DELETE), "\t");
    Some(events::read_copy(text, segment, &copy, max_nodes))
}
