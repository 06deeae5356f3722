//! Plans the edits for the changes of a document.

use super::{emit, intent, shared};
use crate::change::Change;
use crate::span::Span;
use crate::text_edit::{Edit, EditError};
use crate::tree::Tree;

/// Plans the edits for `changes`; they are sorted and do not overlap. A change that is applied already needs no
/// edit.
///
/// # Errors
/// [`EditError`] if a change does not fit the document, or could affect other fields.
pub fn plan(tree: &Tree, changes: &[Change]) -> Result<Vec<Edit>, EditError> {
    refuse_lone_returns(tree)?;
    plan_one(tree, changes)
}

/// Plans the edits of each list of changes separately, as [`plan`] does. Checks of the whole document run once.
#[must_use]
pub fn plan_each(tree: &Tree, lists: &[&[Change]]) -> Vec<Result<Vec<Edit>, EditError>> {
    let refusal = refuse_lone_returns(tree);
    lists
        .iter()
        .map(|changes| refusal.clone().and_then(|()| plan_one(tree, changes)))
        .collect()
}

fn plan_one(tree: &Tree, changes: &[Change]) -> Result<Vec<Edit>, EditError> {
    shared::refuse_shared(tree, changes)?;
    let edits = direct(tree, changes)?;
    let trimmed = edits
        .into_iter()
        .filter_map(|edit| trimmed(edit, tree.text()));
    Ok(trimmed.collect())
}

/// Removes unchanged lines from both ends of an edit; returns `None` if the edit does not change anything.
fn trimmed(edit: Edit, text: &str) -> Option<Edit> {
    let old = edit.span.slice(text);
    if old == edit.text {
        return None;
    }
    let equal = |(a, b): &(u8, u8)| a == b;
    let front = old.bytes().zip(edit.text.bytes()).take_while(equal).count();
    let front = memchr::memrchr(b'\n', old.as_bytes().get(..front)?).map_or(0, |at| at + 1);
    let (old_rest, new_rest) = (old.get(front..)?, edit.text.get(front..)?);
    let backwards = old_rest.bytes().rev().zip(new_rest.bytes().rev());
    let back = backwards.take_while(equal).count();
    let tail = old_rest.as_bytes().get(old_rest.len() - back..)?;
    let back = memchr::memchr(b'\n', tail).map_or(0, |at| tail.len() - at);
    Some(Edit {
        span: Span::new(edit.span.start + front, edit.span.end - back),
        text: new_rest.get(..new_rest.len() - back)?.to_owned(),
    })
}

/// Rejects a document with a carriage return that is not part of a `\r\n`. It ends a line in YAML, but not for most
/// other tools.
fn refuse_lone_returns(tree: &Tree) -> Result<(), EditError> {
    let text = tree.text().as_bytes();
    let segment = tree.segment();
    let bytes = text.get(segment.start..segment.end).unwrap_or_default();
    let alone = |&at: &usize| bytes.get(at + 1) != Some(&b'\n');
    match memchr::memchr_iter(b'\r', bytes).find(alone) {
        Some(at) => Err(EditError {
            offset: segment.start + at,
            reason: "a line ends with a carriage return alone".to_owned(),
        }),
        None => Ok(()),
    }
}

/// Plans edits that may replace unchanged lines.
fn direct(tree: &Tree, changes: &[Change]) -> Result<Vec<Edit>, EditError> {
    let Some(root) = tree.root() else {
        return Err(EditError {
            offset: tree.segment().start,
            reason: "the document is empty".to_owned(),
        });
    };
    let plan = intent::combine(root, changes)?;
    emit::edits(tree, root, plan)
}
