//! Checks whether `--undo` can undo a rewrite.
//!
//! Undoing removes mappings that a rewrite had to create. If a mapping is written with explicit keys (`? key`), on one line
//! or several, the edit engine cannot always remove them.

use meshprobe_tree::source::{SourceFile, SourceSet};
use meshprobe_yaml::{self as yaml, Edit, EditError, Span};

/// Checks the edits of a rewrite in a document that may have explicit keys. `undo` returns whether undoing changes a file.
///
/// # Errors
/// [`EditError`] if undoing would not change the edited document.
pub(super) fn ensure_undo(
    file: &SourceFile,
    document: Span,
    edits: &[Edit],
    undo: impl Fn(&SourceSet) -> bool,
) -> Result<(), EditError> {
    let before = document.slice(&file.text);
    let Some(mark) = explicit_key_mark(before) else {
        return Ok(());
    };
    let local: Vec<Edit> = edits
        .iter()
        .map(|edit| Edit {
            span: Span::new(
                edit.span.start - document.start,
                edit.span.end - document.start,
            ),
            text: edit.text.clone(),
        })
        .collect();
    let edited = SourceSet::from_text(&file.path, &yaml::splice(before, &local));
    if !undo(&edited) {
        return Err(EditError {
            offset: document.start + mark,
            reason:
                "`rewrite --undo` could not restore the document, which has explicit keys (`?`)"
                    .to_owned(),
        });
    }
    Ok(())
}

/// Returns the offset of a `?` that may mark an explicit key.
fn explicit_key_mark(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let is_blank = |byte: Option<&u8>| byte.is_none_or(u8::is_ascii_whitespace);
    memchr::memchr_iter(b'?', bytes).find(|&at| {
        let before = at.checked_sub(1).and_then(|at| bytes.get(at));
        let opens = matches!(before, Some(b'{' | b'[' | b','));
        (opens || is_blank(before)) && is_blank(bytes.get(at + 1))
    })
}
