//! Plans the edits for the changes of a document, and verifies them.

use serde::de::IgnoredAny;

use super::emit::children;
use super::intent::effective_changes;
use super::{emit, intent};
use crate::change::Change;
use crate::field_path::Step;
use crate::merge::ambiguities;
use crate::span::{Edit, EditError, Span, splice_segment};
use crate::tree::{Kind, NodeRef, Style, Tree};
use crate::verify;

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
    refuse_shared(tree, changes)?;
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

/// Plans the edits of a document of a file as [`plan`] does, and verifies them with [`verify_edits`].
///
/// # Errors
/// As [`plan`] and [`verify_edits`].
pub fn apply(tree: &Tree, changes: &[Change]) -> Result<Vec<Edit>, EditError> {
    let edits = plan(tree, changes)?;
    verify_edits(tree, changes, &edits)?;
    Ok(edits)
}

/// Plans and verifies edits as [`apply`] does, for YAML text within a value. Unlike for a file without a final line
/// break, kubectl does not add one to such a text.
///
/// # Errors
/// As [`apply`].
pub fn apply_embedded(tree: &Tree, changes: &[Change]) -> Result<Vec<Edit>, EditError> {
    let edits = plan(tree, changes)?;
    verify_as_written(tree, changes, &edits)?;
    Ok(edits)
}

/// Verifies the edits of a document of a file, which must be sorted and must not overlap. Our parser and the
/// independent one of [`verify`](crate::verify) read the edited document, which must equal the original with `changes`
/// applied.
///
/// # Errors
/// [`EditError`] if the document has more than one reading, or if the edited document does not have the expected
/// content.
pub fn verify_edits(tree: &Tree, changes: &[Change], edits: &[Edit]) -> Result<(), EditError> {
    let is_after = |scalar: &NodeRef<'_>| {
        let last = edits.last();
        last.is_some_and(|last| last.span.start >= scalar.span().end)
    };
    match cut_off_block_scalar(tree).filter(is_after) {
        Some(scalar) => Err(changed_by_kubectl(scalar)),
        None => verify_as_written(tree, changes, edits),
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
    let (before, after) = splice_segment(tree.text(), segment, edits);
    if segment.end < tree.text().len() && before.ends_with('\n') && !after.ends_with('\n') {
        return Err(EditError {
            offset: segment.start,
            reason: "the next document would no longer start on a line of its own".to_owned(),
        });
    }
    verify(tree, &after)?;
    verify::check_edit(tree, changes, &after).map_err(|reason| EditError {
        offset: segment.start,
        reason,
    })
}

/// Returns the block scalar at the end of a file without a final line break, if its value depends on one.
fn cut_off_block_scalar(tree: &Tree) -> Option<NodeRef<'_>> {
    let text = tree.text();
    if tree.segment().end < text.len() || text.ends_with('\n') {
        return None;
    }
    let last = tree.all().last()?;
    let header = last.source().split(char::is_whitespace).next()?;
    let is_block = matches!(last.style(), Style::Literal | Style::Folded);
    (is_block && !header.contains('-')).then_some(last)
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
    trimmed_json(document).starts_with('{')
        && (trimmed_json(follows).starts_with('{') || trimmed_json(precedes).ends_with('}'))
}

fn is_object(text: &str) -> bool {
    let text = trimmed_json(text);
    text.starts_with('{') && serde_json::from_str::<IgnoredAny>(text).is_ok()
}

fn trimmed_json(text: &str) -> &str {
    text.trim_matches(['\u{feff}', ' ', '\t', '\r', '\n'])
}

/// Checks that the changes do not affect text that is used more than once.
///
/// # Errors
/// [`EditError`] at the first alias or merge key that a change would affect.
fn refuse_shared(tree: &Tree, changes: &[Change]) -> Result<(), EditError> {
    let has_shared_text = tree.has_anchors() || tree.has_merge_keys();
    let Some(root) = tree.root().filter(|_| has_shared_text) else {
        return Ok(());
    };
    let aliases = tree.all().filter(|node| node.kind() == Kind::Alias);
    let uses = Uses(aliases.collect());
    effective_changes(root, changes)
        .into_iter()
        .try_for_each(|change| uses.check(root, change))
}

/// The aliases of a document.
struct Uses<'t>(Vec<NodeRef<'t>>);

impl<'t> Uses<'t> {
    fn check(&self, root: NodeRef<'t>, change: &Change) -> Result<(), EditError> {
        let mut node = root;
        let steps = change.route().steps();
        for (index, step) in steps.iter().enumerate() {
            self.refuse_alias(node)?;
            let is_last = index + 1 == steps.len();
            let next = match step {
                Step::Index(index) => node.item(*index),
                Step::Key(key) => match node.entry(key) {
                    // The mapping's own key overrides the merge key.
                    Some(entry)
                        if entry.merged && is_last && matches!(change, Change::Set { .. }) =>
                    {
                        None
                    }
                    Some(entry) if entry.merged => {
                        return refuse(node, "a merge key adds the field");
                    }
                    // The entry that a merge key adds would replace the removed one.
                    Some(_)
                        if is_last && is_removal(change) && node.merged_entry(key).is_some() =>
                    {
                        return refuse(node, "a merge key adds the same field");
                    }
                    entry => entry.map(|entry| entry.value),
                },
            };
            let Some(next) = next else { return Ok(()) };
            node = next;
        }
        match change {
            Change::Push { .. } => self.refuse_alias(node),
            _ => self.refuse_used(node, change),
        }
    }

    /// Rejects a change within a node that is an alias or has one.
    fn refuse_alias(&self, node: NodeRef<'t>) -> Result<(), EditError> {
        let is_shared =
            node.anchor_span().is_some() && self.0.iter().any(|alias| alias.resolved() == node);
        match is_shared || node.kind() == Kind::Alias {
            true => refuse(node, "an alias shares the value"),
            false => Ok(()),
        }
    }

    /// Rejects the replacement or removal of a node if an alias that stays refers to a part of it.
    fn refuse_used(&self, node: NodeRef<'t>, change: &Change) -> Result<(), EditError> {
        let removed = matches!(change, Change::Remove { .. }).then(|| node.span());
        let mut stack = vec![node];
        while let Some(part) = stack.pop() {
            let is_used = |alias: &NodeRef<'t>| {
                alias.resolved() == part
                    && removed.is_none_or(|removed| !removed.contains(alias.span()))
            };
            if part.kind() == Kind::Alias {
                continue;
            }
            if part.anchor_span().is_some() && self.0.iter().any(is_used) {
                return refuse(part, "an alias shares the value");
            }
            for child in children(part) {
                stack.extend(child.key);
                stack.push(child.value);
            }
        }
        Ok(())
    }
}

const fn is_removal(change: &Change) -> bool {
    matches!(change, Change::Remove { .. } | Change::Replace { .. })
}

fn refuse(node: NodeRef<'_>, reason: &str) -> Result<(), EditError> {
    Err(EditError {
        offset: node.span().start,
        reason: format!("cannot change shared text: {reason}"),
    })
}
