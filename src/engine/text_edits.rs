//! Applies edits to the text of files, and checks that they keep the values.

use meshprobe_tree::source::{SourceFile, SourceSet};
use meshprobe_yaml::{Edit, Span, splice, verify};

/// Applies edits to a file, and returns whether its text has changed.
pub(super) fn replace(set: &mut SourceSet, path: &str, mut edits: Vec<Edit>) -> bool {
    edits.sort_by_key(|edit| edit.span);
    let Some(file) = set.file_mut(path) else {
        return false;
    };
    let text = splice(&file.text, &edits);
    if *file.text == *text {
        return false;
    }
    *file = file.with_text(text.into());
    true
}

/// Returns whether both parsers read the same values before and after the edits of a document.
pub(super) fn keeps_meaning(file: &SourceFile, segment: Span, edits: &[Edit]) -> bool {
    let before = segment.slice(&file.text);
    let shifted: Vec<Edit> = edits
        .iter()
        .filter(|edit| segment.start <= edit.span.start && edit.span.end <= segment.end)
        .map(|edit| Edit {
            span: Span::new(
                edit.span.start - segment.start,
                edit.span.end - segment.start,
            ),
            text: edit.text.clone(),
        })
        .collect();
    let before_mark = before.trim_start_matches('\u{feff}');
    let after = splice(before, &shifted);
    shifted.len() == edits.len()
        && verify::verify(before_mark, &[], after.trim_start_matches('\u{feff}')).is_ok()
}
