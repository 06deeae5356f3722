//! Diagnostics of a document that is not valid YAML while it is edited.

use std::path::Path;
use std::sync::Arc;

use gen_lsp_types::{Code, Diagnostic, DiagnosticSeverity};
use meshprobe_tree::source::{Content, SourceFile, SourceSet, shown_path};

use super::by_file::SOURCE;
use super::findings::code_description;
use crate::engine::input_diagnostics;
use crate::lsp::encoding::{Encoding, Lines};

/// Returns whether all documents of a text are valid YAML, or are not expected to be.
pub(in crate::lsp) fn is_valid(path: &Path, text: &Arc<str>) -> bool {
    let file = SourceFile::new(path.to_string_lossy().into(), Arc::clone(text));
    let is_broken = |content: &Content| matches!(content, Content::Broken { .. });
    !file
        .documents
        .iter()
        .any(|document| is_broken(&document.content))
}

/// Returns the diagnostics of the text of a file in a folder that is not valid YAML.
pub(in crate::lsp) fn invalid_document(
    (folder, path): (&Path, &Path),
    text: &Arc<str>,
    encoding: Encoding,
) -> Vec<Diagnostic> {
    let shown = shown_path(path, folder);
    let set = SourceSet::new(vec![SourceFile::new(shown.into(), Arc::clone(text))]);
    let lines = Lines::new(text, encoding);
    input_diagnostics(&set)
        .into_iter()
        .map(|finding| Diagnostic {
            range: lines.range(finding.primary.span),
            severity: Some(DiagnosticSeverity::Error),
            code: Some(Code::String(finding.rule.as_str().to_owned())),
            code_description: code_description(finding.rule),
            source: Some(SOURCE.to_owned()),
            message: finding.message.into(),
            tags: None,
            related_information: None,
            data: None,
        })
        .collect()
}
