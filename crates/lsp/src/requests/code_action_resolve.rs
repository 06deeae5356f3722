//! `codeAction/resolve`: the edits of actions that need a run of their own, in the words of the protocol.

use gen_lsp_types::{
    CodeAction, OptionalVersionedTextDocumentIdentifier, SnippetTextEdit, StringValue,
    TextDocumentEdit, TextDocumentIdentifier, TextEdit, Uri, WorkspaceEdit,
};
use meshprobe_tree::source::{Role, SourceFile, SourceSet};
use meshprobe_yaml::{Edit, Span};
use rayon::ThreadPool;
use serde::{Deserialize, Serialize};

use crate::analysis::Analysis;
use meshprobe_engine::engine;
use meshprobe_engine::engine::Changed;

/// An action whose edits are computed when the user selects it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Deferred {
    /// `check --fix` of the document.
    FixAll,
    /// `rewrite` of one pod.
    Rewrite,
    /// `rewrite --undo` of one pod.
    Undo,
}

impl Deferred {
    /// Returns the title of the action.
    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::FixAll => "Fix all safe findings in this file",
            Self::Rewrite => "Rewrite the probes of this pod",
            Self::Undo => "Undo the rewrite of this pod",
        }
    }
}

#[derive(Deserialize)]
struct Data {
    uri: Uri,
    work: Deferred,
    document: usize,
}

/// Returns the document of the YAML stream that an action is about; `None` if it does not apply at `offset`. Whether a
/// rewrite is refused is only known when it is planned.
pub(super) fn applies(
    analysis: &Analysis,
    file: &SourceFile,
    offset: usize,
    work: Deferred,
) -> Option<usize> {
    if file.role != Role::Target || file.rendered {
        return None;
    }
    if work == Deferred::FixAll {
        let is_safe = |fix: &meshprobe_mesh::finding::Fix| {
            fix.applicability.is_safe() && fix.path == file.path
        };
        let mut fixes = analysis
            .outcome
            .findings
            .iter()
            .filter_map(|finding| finding.fix.as_ref());
        return fixes.any(is_safe).then_some(0);
    }
    let mut documents = file.documents.iter();
    let document = documents
        .find(|document| document.segment.start <= offset && offset <= document.segment.end)?;
    let mut pods = analysis
        .workloads
        .iter()
        .filter(|pod| *pod.written_in.0 == *file.path && pod.written_in.1 == document.index);
    let applies = pods.any(|pod| match work {
        Deferred::Rewrite => pod
            .handlers
            .iter()
            .any(|probe| !probe.rewritten_to.is_empty()),
        _ => pod.is_prerewritten,
    });
    applies.then_some(document.index)
}

/// Returns an action with its edit, if there is something to change.
pub(super) fn answer(analysis: &Analysis, pool: &ThreadPool, action: CodeAction) -> CodeAction {
    let data = action.data.clone();
    let data = data.and_then(|data| serde_json::from_value::<Data>(data).ok());
    let edit = data.and_then(|data| {
        let file = analysis.file(&data.uri)?;
        let edit = edit(analysis, pool, file, &data)?;
        workspace_edit(analysis, file, [(edit.span, edit.text)])
    });
    CodeAction { edit, ..action }
}

fn edit(analysis: &Analysis, pool: &ThreadPool, file: &SourceFile, data: &Data) -> Option<Edit> {
    let plan = &analysis.plan;
    let settings = &plan.settings;
    if data.work == Deferred::FixAll {
        let set = with_one_target(&analysis.set, file);
        let fixed = pool.install(|| {
            engine::fix_unknown(&set, settings, false, |set, outcome| {
                (plan.suppress)(set, outcome);
            })
        });
        let changed = changed(fixed.changed, file)?;
        return difference(&changed.before, &changed.after, 0);
    }
    let set = with_one_target(&analysis.set, file);
    let rewritten = pool.install(|| match data.work {
        Deferred::Undo => engine::undo(&set, settings),
        _ => engine::rewrite(&set, settings),
    });
    let after = rewritten.set.file(&file.path)?;
    let old = file.documents.get(data.document)?.segment;
    let new = after.documents.get(data.document)?.segment;
    difference(old.slice(&file.text), new.slice(&after.text), old.start)
}

/// Returns the files, of which only one is checked and changed; the others state facts.
fn with_one_target(set: &SourceSet, file: &SourceFile) -> SourceSet {
    let mut set = set.clone();
    for other in &mut set.files {
        if other.role == Role::Target && other.path != file.path {
            other.role = Role::Repository;
        }
    }
    set
}

fn changed(changed: Vec<Changed>, file: &SourceFile) -> Option<Changed> {
    changed
        .into_iter()
        .find(|changed| changed.path == file.path)
}

/// Returns the edit of a file; `None` if the file is not on disk, or if the client shows another text of it.
pub(super) fn workspace_edit(
    analysis: &Analysis,
    file: &SourceFile,
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
pub(super) fn selecting_edit(
    analysis: &Analysis,
    file: &SourceFile,
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
fn editable(analysis: &Analysis, file: &SourceFile) -> Option<Uri> {
    let uri = analysis.uri(file)?;
    analysis.file(&uri).is_some().then_some(uri)
}

fn document_edit(analysis: &Analysis, uri: Uri, edits: Vec<gen_lsp_types::Edit>) -> WorkspaceEdit {
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
    use meshprobe_yaml::splice;

    use super::*;

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
