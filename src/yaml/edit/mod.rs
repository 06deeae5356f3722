//! Turns intended changes into the smallest byte edits that the layout of the document allows.
//!
//! Nothing is printed from a tree: an edit is a range and its replacement, all other bytes stay.
//! New text takes its layout from its siblings, and where there are none from the document.

mod compose;
mod copy;
mod emit;
mod fate;
mod flow;
mod flow_style;
mod insert;
mod inside;
mod intent;
mod json_stream;
mod layout;
mod lines;
mod morph;
mod own;
mod put;
mod quote;
mod remove;

mod share;
mod write;

use std::sync::Arc;

use super::ambiguity::ambiguities;
use super::change::Change;
use super::parse::parse;
use super::span::Span;
use super::tree::{NodeRef, Style, Tree};
use super::verify;

/// A byte range of the whole file and the text that takes its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The bytes to replace; empty for an insertion.
    pub span: Span,
    /// The replacement.
    pub text: String,
}

/// Why a document cannot be edited safely.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditError {
    /// Where in the file the obstacle lies, in bytes.
    pub offset: usize,
    /// What stands in the way, in words for the user.
    pub reason: String,
}

impl std::fmt::Display for EditError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.reason)
    }
}

impl std::error::Error for EditError {}

/// How often shared text may be written out before a document counts as hopeless.
const ROUNDS: usize = 100;
/// How many bytes a document may grow to while shared text is written out.
const LARGEST: usize = 1 << 26;

/// Plans the edits that make `changes` true, sorted and without overlap; changes that hold
/// already need none.
///
/// # Errors
/// [`EditError`] where a change does not fit the document or could touch more than it means to.
pub fn plan(tree: &Tree, changes: &[Change]) -> Result<Vec<Edit>, EditError> {
    refuse_lone_returns(tree)?;
    plan_one(tree, changes)
}

/// Plans lists of changes, each by itself, as [`plan`] does. What concerns the whole document is checked once.
#[must_use]
pub fn plan_each(tree: &Tree, lists: &[&[Change]]) -> Vec<Result<Vec<Edit>, EditError>> {
    let refusal = refuse_lone_returns(tree);
    lists
        .iter()
        .map(|changes| refusal.clone().and_then(|()| plan_one(tree, changes)))
        .collect()
}

fn plan_one(tree: &Tree, changes: &[Change]) -> Result<Vec<Edit>, EditError> {
    let edits = untrimmed(tree, changes)?;
    let trimmed = edits
        .into_iter()
        .filter_map(|edit| trimmed(edit, tree.text()));
    Ok(trimmed.collect())
}

/// Takes off the lines at both ends of an edit that stay as they are; `None` if all do.
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

fn untrimmed(tree: &Tree, changes: &[Change]) -> Result<Vec<Edit>, EditError> {
    let mut own = share::unshare(tree, changes)?;
    if own.is_empty() {
        return direct(tree, changes);
    }
    shift(&mut own, tree.segment().start, 0);
    let before = tree.segment().slice(tree.text());
    for _ in 0..ROUNDS {
        let text = splice(before, &own);
        let Some(next) = reparse(&text).filter(|_| text.len() < LARGEST) else {
            break;
        };
        let at_start = |error: EditError| EditError {
            offset: tree.segment().start,
            ..error
        };
        let more = share::unshare(&next, changes).map_err(at_start)?;
        if more.is_empty() {
            let last = direct(&next, changes).map_err(at_start)?;
            let mut edits = compose::compose(&own, &last, before.len());
            shift(&mut edits, 0, tree.segment().start);
            return Ok(edits);
        }
        own = compose::compose(&own, &more, before.len());
    }
    Err(EditError {
        offset: tree.segment().start,
        reason: "aliases and merge keys are entangled".to_owned(),
    })
}

/// A carriage return alone ends a line for YAML, but for hardly any tool beside it.
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

/// Plans the edits of a document where the changes meet nothing shared.
fn direct(tree: &Tree, changes: &[Change]) -> Result<Vec<Edit>, EditError> {
    let Some(root) = tree.root() else {
        return Err(EditError {
            offset: tree.segment().start,
            reason: "the document is empty".to_owned(),
        });
    };
    let fate = intent::gather(root, changes)?;
    emit::edits(tree, root, fate)
}

/// Parses the text of one document.
fn reparse(text: &str) -> Option<Tree> {
    let text = Arc::from(text);
    let segment = Span::new(0, str::len(&text));
    parse(&text, segment).ok().flatten()
}

/// Moves edits from a text that starts at `from` to one where the same starts at `to`.
fn shift(edits: &mut [Edit], from: usize, to: usize) {
    for edit in edits {
        edit.span.start = edit.span.start - from + to;
        edit.span.end = edit.span.end - from + to;
    }
}

/// Plans the edits of a document of a file as [`plan`] does, and verifies them with [`prove`].
///
/// # Errors
/// [`EditError`] as of [`plan`] and [`prove`].
pub fn apply(tree: &Tree, changes: &[Change]) -> Result<Vec<Edit>, EditError> {
    let edits = plan(tree, changes)?;
    prove(tree, changes, &edits)?;
    Ok(edits)
}

/// Plans and verifies edits as [`apply`] does, for YAML text within a value. Its end is where it
/// is written, whereas kubectl adds a line break to a file that has none at its end.
///
/// # Errors
/// As [`apply`].
pub fn apply_embedded(tree: &Tree, changes: &[Change]) -> Result<Vec<Edit>, EditError> {
    let edits = plan(tree, changes)?;
    prove_as_written(tree, changes, &edits)?;
    Ok(edits)
}

/// Verifies the edits of a document of a file, which are sorted and do not overlap: the edited
/// document is read again, by our parser and by the independent one of [`verify`], and must hold
/// exactly what `changes` say.
///
/// # Errors
/// [`EditError`] where the document has more than one reading, and where the edited document does
/// not hold what it should.
pub fn prove(tree: &Tree, changes: &[Change], edits: &[Edit]) -> Result<(), EditError> {
    prove_as_written(tree, changes, edits)?;
    match cut_off_block_scalar(tree) {
        Some(scalar) if !edits.is_empty() => {
            with_final_break(tree, changes, edits).ok_or_else(|| changed_by_kubectl(scalar))
        }
        _ => Ok(()),
    }
}

fn prove_as_written(tree: &Tree, changes: &[Change], edits: &[Edit]) -> Result<(), EditError> {
    if edits.is_empty() {
        return Ok(());
    }
    if let Some((_, later)) = tree.duplicate_keys().first() {
        return Err(EditError {
            offset: later.start,
            reason: format!("the key `{}` occurs twice", later.slice(tree.text())),
        });
    }
    if let Some(ambiguous) = ambiguities(tree).into_iter().next() {
        return Err(EditError {
            offset: ambiguous.span.start,
            reason: ambiguous.message,
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

/// Returns the block scalar that ends with the file and without a line break.
fn cut_off_block_scalar(tree: &Tree) -> Option<NodeRef<'_>> {
    let text = tree.text();
    if tree.segment().end < text.len() || text.ends_with('\n') {
        return None;
    }
    let last = tree.all().last()?;
    matches!(last.style(), Style::Literal | Style::Folded).then_some(last)
}

/// Verifies the edits in the text as kubectl reads it: every line of it ends with a line break.
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

/// Returns `text` with all `edits` made; they must be sorted and must not overlap, others are
/// skipped.
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
