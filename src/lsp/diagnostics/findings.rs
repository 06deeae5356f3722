//! Diagnostics at the probes: one per finding.

use std::sync::Arc;

use gen_lsp_types::{
    Code, CodeDescription, Diagnostic, DiagnosticRelatedInformation, DiagnosticSeverity,
    DiagnosticTag,
};
use serde_json::json;

use super::by_file::{ByFile, SOURCE};
use crate::engine::Outcome;
use crate::finding::{Finding, Label, RuleId, Severity, docs_url};
use crate::lsp::analysis::Analysis;

/// Adds the diagnostics of all findings. Suppressed findings are hints.
pub(super) fn add(analysis: &Analysis<'_, '_>, found: &mut ByFile) {
    let Outcome {
        findings,
        suppressed,
        ..
    } = analysis.outcome;
    for finding in findings.iter().chain(suppressed) {
        let label = &finding.primary;
        let Some(file) = analysis.set.file(&label.path) else {
            continue;
        };
        let is_suppressed = finding.suppressed.is_some();
        let diagnostic = Diagnostic {
            range: analysis.range(file, label.span),
            severity: Some(match finding.severity {
                _ if is_suppressed => DiagnosticSeverity::Hint,
                Severity::Error => DiagnosticSeverity::Error,
                Severity::Warning => DiagnosticSeverity::Warning,
                Severity::Note => DiagnosticSeverity::Information,
            }),
            code: Some(Code::String(finding.rule.as_str().to_owned())),
            code_description: code_description(finding.rule),
            source: Some(SOURCE.to_owned()),
            message: text(finding).into(),
            tags: (is_suppressed && analysis.supports.tags)
                .then(|| vec![DiagnosticTag::Unnecessary]),
            related_information: related(analysis, finding),
            data: Some(json!({ "message": finding.message })),
        };
        let diagnostics = found.entry(Arc::clone(&file.path));
        diagnostics.or_default().push(diagnostic);
    }
}

/// Returns the link to the page of a rule.
pub(super) fn code_description(rule: RuleId) -> Option<CodeDescription> {
    Some(CodeDescription {
        href: docs_url(rule).into(),
    })
}

/// Returns the message with the lines that a terminal shows below it.
fn text(finding: &Finding) -> String {
    let mut text = finding.message.clone();
    let mut line = |name: &str, value: &str| {
        text.push('\n');
        text.push_str(name);
        text.push_str(": ");
        text.push_str(value);
    };
    if let Some(suppression) = &finding.suppressed {
        line("suppressed", &suppression.reason);
    }
    if let Some(environments) = finding.environments_line() {
        line("in", &environments);
    }
    if let Some(kubelet) = &finding.kubelet {
        line("kubelet", kubelet);
    }
    for assumption in &finding.assumptions {
        line("assumed", assumption);
    }
    if let Some(help) = &finding.help {
        line("help", help);
    }
    text
}

/// Returns the deciding lines that are in files.
fn related(
    analysis: &Analysis<'_, '_>,
    finding: &Finding,
) -> Option<Vec<DiagnosticRelatedInformation>> {
    let information = |label: &Label| {
        Some(DiagnosticRelatedInformation {
            location: analysis.location(&label.path, label.span)?,
            message: label.message.clone(),
        })
    };
    let related: Vec<_> = finding.related.iter().filter_map(information).collect();
    (!related.is_empty()).then_some(related)
}
