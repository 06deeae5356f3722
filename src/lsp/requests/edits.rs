//! Edits of files in the words of the protocol.

use gen_lsp_types::{
    OptionalVersionedTextDocumentIdentifier, SnippetTextEdit, StringValue, TextDocumentEdit,
    TextDocumentIdentifier, TextEdit, Uri, WorkspaceEdit,
};
use meshprobe_tree::source::SourceFile;
use meshprobe_yaml::{Edit, Span};

use crate::lsp::analysis::Analysis;

/// Returns the edit of a file; `None` if the file is not on disk, or if the client shows another text of it.
pub(super) fn workspace_edit<'t>(
    analysis: &Analysis<'_, 't>,
    file: &'t SourceFile,
    edits: impl IntoIterator<Item = (Span, String)>,
) -> Option<WorkspaceEdit> {
    let uri = editable(analysis, file)?;
    let lines = analysis.lines(file);
    let edits = edits.into_iter().map(|(span, new_text)| TextEdit {
        range: lines.range(span),
        new_text,
    });
    if analysis.supports.document_changes {
        let edits = edits.map(Into::into).collect();
        return Some(document_edit(analysis, uri, edits));
    }
    Some(WorkspaceEdit {
        changes: Some(std::iter::once((uri, edits.collect())).collect()),
        ..WorkspaceEdit::default()
    })
}

/// Returns the edit of a file after which `selected`, a part of the new text, is selected, if the client supports it. The
/// edit should start a line, because clients indent the lines of such an edit like the text before it.
pub(super) fn selecting_edit<'t>(
    analysis: &Analysis<'_, 't>,
    file: &'t SourceFile,
    (span, new_text): (Span, String),
    selected: &str,
) -> Option<WorkspaceEdit> {
    let supports = analysis.supports;
    let parts = new_text.split_once(selected);
    match parts.filter(|_| supports.snippet_edits && supports.document_changes) {
        Some((before, after)) => {
            let uri = editable(analysis, file)?;
            let edit = SnippetTextEdit {
                range: analysis.lines(file).range(span),
                snippet: StringValue {
                    value: format!(
                        "{}${{0:{}}}{}",
                        escaped(before),
                        escaped(selected),
                        escaped(after)
                    ),
                },
                annotation_id: None,
            };
            Some(document_edit(analysis, uri, vec![edit.into()]))
        }
        None => workspace_edit(analysis, file, [(span, new_text)]),
    }
}

/// Returns the URI of a file on disk whose text the client shows as it was analysed.
fn editable(analysis: &Analysis<'_, '_>, file: &SourceFile) -> Option<Uri> {
    let uri = analysis.uri(file)?;
    analysis.draft(file).is_none().then_some(uri)
}

fn document_edit(
    analysis: &Analysis<'_, '_>,
    uri: Uri,
    edits: Vec<gen_lsp_types::Edit>,
) -> WorkspaceEdit {
    let edit = TextDocumentEdit {
        text_document: OptionalVersionedTextDocumentIdentifier {
            version: analysis.version(&uri),
            text_document_identifier: TextDocumentIdentifier { uri },
        },
        edits,
    };
    WorkspaceEdit {
        document_changes: Some(vec![edit.into()]),
        ..WorkspaceEdit::default()
    }
}

/// Escapes the characters that have a meaning in a snippet.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        if matches!(character, '\\' | '$' | '}') {
            escaped.push('\\');
        }
        escaped.push(character);
    }
    escaped
}

/// Returns the edit that turns one text into another: the whole lines between the lines that both texts start and end
/// with. `start` is the offset of the texts in their file. Returns `None` if the texts are equal.
pub(super) fn difference(before: &str, after: &str, start: usize) -> Option<Edit> {
    if before == after {
        return None;
    }
    let (old, new): (Vec<&str>, Vec<&str>) = (
        before.split_inclusive('\n').collect(),
        after.split_inclusive('\n').collect(),
    );
    let equal = |(one, other): &(&&str, &&str)| one == other;
    let head = old.iter().zip(&new).take_while(equal).count();
    let most = old.len().min(new.len()) - head;
    let ends = old.iter().rev().zip(new.iter().rev());
    let tail = ends.take(most).take_while(equal).count();
    let length = |lines: &[&str]| lines.iter().map(|line| line.len()).sum::<usize>();
    let first = length(old.get(..head).unwrap_or_default());
    let last = length(old.get(old.len() - tail..).unwrap_or_default());
    let end = after.len() - last;
    Some(Edit {
        span: Span::new(start + first, start + before.len() - last),
        text: after.get(first..end).unwrap_or_default().to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use meshprobe_yaml::splice;

    #[test]
    fn a_difference_turns_one_text_into_the_other() {
        let texts = [
            "",
            "a\n",
            "a\nb\n",
            "a\nb\nc",
            "b\nb\nb\n",
            "x\nb\nb\nb\n",
            "a\r\nb\r\n",
        ];
        for before in texts {
            for after in texts {
                let edits: Vec<Edit> = difference(before, after, 0).into_iter().collect();
                assert_eq!(splice(before, &edits), after, "{before:?}");
                assert_eq!(edits.is_empty(), before == after);
            }
        }
    }
}
