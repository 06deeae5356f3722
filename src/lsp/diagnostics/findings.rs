//! Diagnostics at the probes: one per finding.

use std::sync::Arc;

use gen_lsp_types::{
    Code, CodeDescription, Diagnostic, DiagnosticRelatedInformation, DiagnosticSeverity,
    DiagnosticTag,
};
use meshprobe_mesh::finding::{Finding, Label, RuleId, Severity, docs_url};
use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};
use serde_json::json;

use super::by_file::{ByFile, SOURCE};
use crate::engine::Outcome;
use crate::lsp::analysis::Analysis;

/// Adds the diagnostics of all findings. Suppressed findings are hints.
pub(super) fn add(analysis: &Analysis<'_, '_>, found: &mut ByFile) {
    let Outcome {
        findings,
        suppressed,
        ..
    } = analysis.outcome;
    let all: Vec<&Finding> = findings.iter().chain(suppressed).collect();
    let diagnostics: Vec<Option<Diagnostic>> = all
        .par_iter()
        .map(|finding| diagnostic(analysis, finding))
        .collect();
    for (finding, diagnostic) in all.into_iter().zip(diagnostics) {
        let path = Arc::clone(&finding.primary.path);
        found.entry(path).or_default().extend(diagnostic);
    }
}

/// Returns the diagnostic of a finding; `None` if its file is not in the set, such as the configuration, or if its line
/// is being typed.
fn diagnostic(analysis: &Analysis<'_, '_>, finding: &Finding) -> Option<Diagnostic> {
    let label = &finding.primary;
    let file = analysis.set.file(&label.path)?;
    let is_suppressed = finding.suppressed.is_some();
    Some(Diagnostic {
        range: analysis.unchanged_range(file, label.span)?,
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
        tags: (is_suppressed && analysis.supports.tags).then(|| vec![DiagnosticTag::Unnecessary]),
        related_information: related(analysis, finding),
        data: Some(json!({ "message": finding.message })),
    })
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
