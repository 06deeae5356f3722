//! Reports documents that are not YAML, or that tools read differently.

use std::sync::Arc;

use crate::finding::{Finding, Label, Severity};
use crate::source::{Content, Document, SourceFile, is_kustomization};
use crate::yaml::{Ambiguity, AmbiguityKind, Span};

use super::notices::{AMBIGUOUS_YAML, DUPLICATE_KEY, SYNTAX_ERROR};

/// Reports everything that kept a document from being checked.
pub(super) fn of_document(file: &SourceFile, document: &Document) -> Vec<Finding> {
    match &document.content {
        Content::Broken { error, kubernetes } => {
            let span = character_at(&file.text, error.offset);
            let message = error.describe("the document");
            let mut finding = Finding::new(
                SYNTAX_ERROR,
                error_if(*kubernetes),
                label(file, span),
                message,
            );
            finding.document = document.index;
            if error.message.contains("tab") {
                finding.help = Some("indent with spaces; YAML does not allow tabs".into());
            }
            vec![finding]
        }
        Content::Tree(tree) => tree
            .duplicate_keys()
            .iter()
            .map(|&(first, again)| duplicate(file, document, first, again))
            .chain(ambiguous(file, document))
            .collect(),
        _ => ambiguous(file, document),
    }
}

/// Reports the texts that Kubernetes tools read differently.
fn ambiguous(file: &SourceFile, document: &Document) -> Vec<Finding> {
    let finding = |ambiguity: &Ambiguity| {
        // Text that only some tools see can hide settings from a review, and text that was not read can hide faults.
        let severity = match ambiguity.kind {
            // Merge keys within values of a chart or of another tool cannot hide a manifest.
            AmbiguityKind::MergeLimit if document.tree().is_none() => Severity::Note,
            AmbiguityKind::HiddenSyntax | AmbiguityKind::MergeLimit => Severity::Error,
            AmbiguityKind::MergeOrder | AmbiguityKind::Tag => Severity::Warning,
        };
        let label = label(file, ambiguity.span);
        let message = ambiguity.message.clone();
        let mut finding = Finding::new(AMBIGUOUS_YAML, severity, label, message);
        finding.document = document.index;
        finding.help = Some(ambiguity.help.into());
        finding
    };
    document.ambiguities.iter().map(finding).collect()
}

fn duplicate(file: &SourceFile, document: &Document, first: Span, again: Span) -> Finding {
    let key = again.slice(&file.text);
    let readers = match document.patch {
        _ if is_kustomization(&file.path) => "kustomize uses the last value",
        true => {
            "kustomize uses the first value, or rejects the patch if the object has no such mapping"
        }
        false => "kubectl uses the last value, kustomize rejects the file",
    };
    let message = format!("duplicate key `{key}`: {readers}");
    let mut finding = Finding::new(
        DUPLICATE_KEY,
        Severity::Warning,
        label(file, again),
        message,
    );
    finding.related.push(Label {
        message: "first occurrence".into(),
        ..label(file, first)
    });
    finding.document = document.index;
    finding.help = Some("delete one of the two keys".into());
    finding
}

/// Returns the span of the character at `offset`; an empty span at the end of a line.
fn character_at(text: &str, offset: usize) -> Span {
    let next = text.get(offset..).and_then(|rest| rest.chars().next());
    let length = next
        .filter(|c| !matches!(c, '\n' | '\r'))
        .map_or(0, char::len_utf8);
    Span::new(offset, offset + length)
}

/// Returns the severity of what is certainly wrong if the condition holds, and otherwise a note.
pub(super) const fn error_if(condition: bool) -> Severity {
    if condition {
        Severity::Error
    } else {
        Severity::Note
    }
}

/// Returns a place in a file, without a message.
pub(super) fn label(file: &SourceFile, span: Span) -> Label {
    Label {
        path: Arc::clone(&file.path),
        span,
        message: String::new(),
    }
}
