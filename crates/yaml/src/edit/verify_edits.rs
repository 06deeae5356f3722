//! Verifies planned edits.

use super::json_stream;
use super::reparse::reparse;
use crate::change::Change;
use crate::merge_order::ambiguities;
use crate::text_edit::{Edit, EditError, shift, splice};
use crate::tree::{NodeRef, Style, Tree};
use crate::verify;

/// Verifies the edits of a document of a file, which must be sorted and must not overlap. Our parser and the
/// independent one of [`verify`](crate::verify) read the edited document, which must equal the original with `changes`
/// applied.
///
/// # Errors
/// [`EditError`] if the document has more than one reading, or if the edited document does not have the expected
/// content.
pub fn verify_edits(tree: &Tree, changes: &[Change], edits: &[Edit]) -> Result<(), EditError> {
    verify_as_written(tree, changes, edits)?;
    match cut_off_block_scalar(tree) {
        Some(scalar) if !edits.is_empty() => {
            with_final_break(tree, changes, edits).ok_or_else(|| changed_by_kubectl(scalar))
        }
        _ => Ok(()),
    }
}

/// Verifies edits as [`verify_edits`] does, but does not add a final line break.
///
/// # Errors
/// As [`verify_edits`].
pub(super) fn verify_as_written(
    tree: &Tree,
    changes: &[Change],
    edits: &[Edit],
) -> Result<(), EditError> {
    if edits.is_empty() {
        return Ok(());
    }
    if let Some((_, later)) = tree.duplicate_keys().first() {
        return Err(EditError {
            offset: later.start,
            reason: format!("the key `{}` occurs twice", later.slice(tree.text())),
        });
    }
    if let Some(ambiguity) = ambiguities(tree).into_iter().next() {
        return Err(EditError {
            offset: ambiguity.span.start,
            reason: ambiguity.message,
        });
    }
    let segment = tree.segment();
    let (before, after) = texts(tree, edits);
    if segment.end < tree.text().len() && before.ends_with('\n') && !after.ends_with('\n') {
        return Err(EditError {
            offset: segment.start,
            reason: "the next document would no longer start on a line of its own".to_owned(),
        });
    }
    json_stream::verify(tree, &after)?;
    verify::check_edit(tree, changes, &after).map_err(|reason| EditError {
        offset: segment.start,
        reason,
    })
}

/// Returns the text of the document before and after its edits.
fn texts<'t>(tree: &'t Tree, edits: &[Edit]) -> (&'t str, String) {
    let segment = tree.segment();
    let before = segment.slice(tree.text());
    let mut local = edits.to_vec();
    shift(&mut local, segment.start, 0);
    (before, splice(before, &local))
}

/// Returns the block scalar at the end of a file that has no final line break.
fn cut_off_block_scalar(tree: &Tree) -> Option<NodeRef<'_>> {
    let text = tree.text();
    if tree.segment().end < text.len() || text.ends_with('\n') {
        return None;
    }
    let last = tree.all().last()?;
    matches!(last.style(), Style::Literal | Style::Folded).then_some(last)
}

/// Verifies the edits in the text that kubectl reads, which ends with a line break.
fn with_final_break(tree: &Tree, changes: &[Change], edits: &[Edit]) -> Option<()> {
    let (before, mut after) = texts(tree, edits);
    if !after.ends_with('\n') {
        after.push('\n');
    }
    let before = reparse(&format!("{before}\n"))?;
    verify::check_edit(&before, changes, &after).ok()
}

fn changed_by_kubectl(scalar: NodeRef<'_>) -> EditError {
    EditError {
        offset: scalar.span().start,
        reason: "the file ends within a block scalar: kubectl reads it with a final line break, \
                 kustomize without, and the edit would change one of the two; end the file with a \
                 line break"
            .to_owned(),
    }
}
