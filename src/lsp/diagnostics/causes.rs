//! Diagnostics at the causes: a line of a policy that breaks probes in other documents.

use std::collections::BTreeMap;
use std::sync::Arc;

use gen_lsp_types::{Code, Diagnostic, DiagnosticRelatedInformation, DiagnosticSeverity};
use meshprobe_mesh::finding::{Finding, Severity};
use meshprobe_mesh::kube::Object;
use meshprobe_tree::source::SourceFile;
use meshprobe_yaml::Span;

use super::by_file::{ByFile, SOURCE};
use super::findings::code_description;
use crate::lsp::analysis::Analysis;

/// The maximum number of probes that a diagnostic links to.
const LINKED: usize = 20;

/// Adds a diagnostic at each line of a policy that decides findings about probes of other documents.
pub(super) fn add(analysis: &Analysis<'_, '_>, found: &mut ByFile) {
    let mut causes: BTreeMap<(&str, Span), Vec<&Finding>> = BTreeMap::new();
    let broken = |finding: &&Finding| finding.probe.is_some() && finding.severity > Severity::Note;
    for finding in analysis.outcome.findings.iter().filter(broken) {
        let primary = &finding.primary;
        for label in &finding.related {
            let Some(file) = analysis.set.file(&label.path) else {
                continue;
            };
            let span = label.span;
            let is_elsewhere =
                label.path != primary.path || !is_same_document(file, span, primary.span);
            if is_elsewhere && is_policy(file, span) {
                let findings = causes.entry((&file.path, span)).or_default();
                if !findings.iter().any(|known| known.primary == *primary) {
                    findings.push(finding);
                }
            }
        }
    }
    for ((path, span), findings) in causes {
        let Some(file) = analysis.set.file(path) else {
            continue;
        };
        let diagnostic = diagnostic(analysis, file, span, &findings);
        found
            .entry(Arc::clone(&file.path))
            .or_default()
            .extend(diagnostic);
    }
}

/// Returns the diagnostic of a line; `None` if the line is being typed.
fn diagnostic<'t>(
    analysis: &Analysis<'_, 't>,
    file: &'t SourceFile,
    span: Span,
    findings: &[&Finding],
) -> Option<Diagnostic> {
    let linked = findings.iter().take(LINKED).filter_map(|finding| {
        let label = &finding.primary;
        Some(DiagnosticRelatedInformation {
            location: analysis.location(&label.path, label.span)?,
            message: finding.message.clone(),
        })
    });
    let rule = findings.first().map(|finding| finding.rule);
    let rule = rule.filter(|rule| findings.iter().all(|finding| finding.rule == *rule));
    let message = match findings.len() {
        1 => "breaks 1 probe".to_owned(),
        count => format!("breaks {count} probes"),
    };
    Some(Diagnostic {
        range: analysis.unchanged_range(file, span)?,
        severity: Some(DiagnosticSeverity::Information),
        code: rule.map(|rule| Code::String(rule.as_str().to_owned())),
        code_description: rule.and_then(code_description),
        source: Some(SOURCE.to_owned()),
        message: message.into(),
        tags: None,
        related_information: Some(linked.collect()),
        data: None,
    })
}

/// Returns whether two places of a file are in one document.
fn is_same_document(file: &SourceFile, one: Span, other: Span) -> bool {
    let mut documents = file.documents.iter();
    documents.any(|document| document.segment.contains(one) && document.segment.contains(other))
}

/// Returns whether a place is in an object that restricts or changes the traffic of other pods. The Namespace or the
/// Service of a pod is not at fault for its probes.
fn is_policy(file: &SourceFile, span: Span) -> bool {
    let holds = |object: &Object<'_>| object.node.span().contains(span);
    let document = file
        .documents
        .iter()
        .find(|document| document.segment.contains(span));
    let object = document.and_then(|document| Object::all_in(document).into_iter().find(holds));
    object.is_some_and(|object| {
        !matches!(
            (object.group(), object.kind),
            ("", "Namespace" | "Service" | "Pod") | ("apps" | "batch", _)
        )
    })
}
