//! Documents of a stream of JSON objects, which only their braces separate.

use serde::de::IgnoredAny;

use crate::text_edit::EditError;
use crate::tree::Tree;

/// Verifies that a document of a JSON stream is still one JSON object, so that the start of the next document does not
/// move. `after` is its edited text. Documents outside of a JSON stream are accepted.
///
/// # Errors
/// [`EditError`] if the edited text is not one JSON object.
pub(super) fn verify(tree: &Tree, after: &str) -> Result<(), EditError> {
    if !is_in_stream(tree) || is_object(after) {
        return Ok(());
    }
    Err(EditError {
        offset: tree.segment().start,
        reason: "a document in a stream of JSON objects must stay a JSON object".to_owned(),
    })
}

/// Returns whether another object directly precedes or follows this one.
fn is_in_stream(tree: &Tree) -> bool {
    let (text, segment) = (tree.text(), tree.segment());
    let document = segment.slice(text);
    let follows = text.get(segment.end..).unwrap_or_default();
    let precedes = text.get(..segment.start).unwrap_or_default();
    trimmed(document).starts_with('{')
        && (trimmed(follows).starts_with('{') || trimmed(precedes).ends_with('}'))
}

fn is_object(text: &str) -> bool {
    let text = trimmed(text);
    text.starts_with('{') && serde_json::from_str::<IgnoredAny>(text).is_ok()
}

fn trimmed(text: &str) -> &str {
    text.trim_matches(['\u{feff}', ' ', '\t', '\r', '\n'])
}
