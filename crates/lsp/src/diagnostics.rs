//! Diagnostics: findings in the words of the protocol, at the probes and at the lines of policies that break them.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use gen_lsp_types::{
    Code, CodeDescription, Diagnostic, DiagnosticRelatedInformation, DiagnosticSeverity,
    DiagnosticTag,
};
use meshprobe_mesh::finding::{Finding, Label, RuleId, Severity, docs_url};
use meshprobe_mesh::kube::Object;
use meshprobe_tree::source::{SourceFile, SourceSet, shown_path};
use meshprobe_yaml::Span;
use rayon::iter::{IntoParallelRefIterator as _, ParallelIterator as _};
use serde_json::json;

use super::analysis::Analysis;
use super::encoding::{Encoding, Lines};
use meshprobe_engine::engine::{Outcome, input_diagnostics};

/// Returns the diagnostics of all files, at the probes and at the lines that cause the findings.
pub(crate) fn of_analysis(analysis: &Analysis) -> ByFile {
    let mut found = ByFile::new();
    add_findings(analysis, &mut found);
    add_causes(analysis, &mut found);
    found
}

/// Diagnostics by the displayed path of their file.
pub(crate) type ByFile = BTreeMap<Arc<str>, Vec<Diagnostic>>;

/// The name of the tool in diagnostics.
pub(crate) const SOURCE: &str = "meshprobe";

/// The maximum number of probes that a cause_diagnostic links to.
const LINKED: usize = 20;

/// Adds a cause_diagnostic at each line of a policy that decides findings about probes of other documents.
pub(super) fn add_causes(analysis: &Analysis, found: &mut ByFile) {
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
        let diagnostics = found.entry(Arc::clone(&file.path)).or_default();
        diagnostics.push(cause_diagnostic(analysis, file, span, &findings));
    }
}

/// Returns the diagnostic at a line that causes findings.
fn cause_diagnostic(
    analysis: &Analysis,
    file: &SourceFile,
    span: Span,
    findings: &[&Finding],
) -> Diagnostic {
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
    Diagnostic {
        range: analysis.range(file, span),
        severity: Some(DiagnosticSeverity::Information),
        code: rule.map(|rule| Code::String(rule.as_str().to_owned())),
        code_description: rule.and_then(code_description),
        source: Some(SOURCE.to_owned()),
        message: message.into(),
        tags: None,
        related_information: Some(linked.collect()),
        data: None,
    }
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

/// Adds the diagnostics of all findings. Suppressed findings are hints.
pub(super) fn add_findings(analysis: &Analysis, found: &mut ByFile) {
    let Outcome {
        findings,
        suppressed,
        ..
    } = &analysis.outcome;
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

/// Returns the diagnostic of a finding; `None` if its file is not in the set, such as the configuration.
fn diagnostic(analysis: &Analysis, finding: &Finding) -> Option<Diagnostic> {
    let label = &finding.primary;
    let file = analysis.set.file(&label.path)?;
    let is_suppressed = finding.suppressed.is_some();
    Some(Diagnostic {
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
        line("assumed", &assumption.to_string());
    }
    if let Some(help) = &finding.help {
        line("help", help);
    }
    text
}

/// Returns the deciding lines that are in files.
fn related(analysis: &Analysis, finding: &Finding) -> Option<Vec<DiagnosticRelatedInformation>> {
    let information = |label: &Label| {
        Some(DiagnosticRelatedInformation {
            location: analysis.location(&label.path, label.span)?,
            message: label.message.clone(),
        })
    };
    let related: Vec<_> = finding.related.iter().filter_map(information).collect();
    (!related.is_empty()).then_some(related)
}

/// Returns the diagnostics of the text of a file in a folder that is not valid YAML.
pub(crate) fn invalid_document(
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
