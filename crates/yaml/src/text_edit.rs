//! Edits of a text, and their application.

use super::span::Span;

/// A byte range of the whole file and its replacement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The bytes to replace; empty for an insertion.
    pub span: Span,
    /// The replacement.
    pub text: String,
}

/// Reason why a document cannot be edited safely.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditError {
    /// The offset of the obstacle in the file, in bytes.
    pub offset: usize,
    /// Message for the user: why the edit is not possible.
    pub reason: String,
}

impl std::fmt::Display for EditError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for EditError {}

/// Converts the offsets of edits from a text that starts at `from` to one that starts at `to`.
pub(super) fn shift(edits: &mut [Edit], from: usize, to: usize) {
    for edit in edits {
        edit.span.start = edit.span.start - from + to;
        edit.span.end = edit.span.end - from + to;
    }
}

/// Returns `text` with all `edits` applied. They must be sorted and must not overlap; edits that overlap an earlier one
/// are skipped.
#[must_use]
pub fn splice(text: &str, edits: &[Edit]) -> String {
    let added: usize = edits.iter().map(|edit| edit.text.len()).sum();
    let mut out = String::with_capacity(text.len() + added);
    let mut done = 0;
    for edit in edits {
        if let Some(kept) = text.get(done..edit.span.start) {
            out.push_str(kept);
            out.push_str(&edit.text);
            done = edit.span.end;
        }
    }
    out.push_str(text.get(done..).unwrap_or_default());
    out
}
