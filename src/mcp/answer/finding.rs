//! The report of `check`.

use rmcp::schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::super::clean::{clean, clean_all};
use super::fact::{Fact, ReportedFact};
use super::object::Object;
use super::{Text, at, line, not_judged, reasons};

/// The report of `check --output-format json`.
#[derive(Debug, Deserialize)]
pub(in crate::mcp) struct CheckReport {
    pub(in crate::mcp) findings: Vec<ReportedFinding>,
    pub(in crate::mcp) not_judged: Vec<not_judged::Reported>,
    summary: ReportedSummary,
}

/// A finding of the report.
#[derive(Debug, Deserialize)]
pub(in crate::mcp) struct ReportedFinding {
    rule: String,
    severity: String,
    certainty: String,
    message: String,
    path: String,
    line: Option<u64>,
    object: Option<Object>,
    container: Option<String>,
    #[serde(default)]
    overlays: Vec<String>,
    outcome: Option<String>,
    kubelet: Option<String>,
    related: Vec<ReportedFact>,
    assumptions: Vec<String>,
    help: Option<String>,
    fix: Option<ReportedFix>,
    suppressed: Option<serde_json::Value>,
}

#[derive(Debug, Deserialize)]
struct ReportedFix {
    applicability: String,
    reason: Option<String>,
    title: String,
}

#[derive(Debug, Deserialize)]
struct ReportedSummary {
    files: ReportedFiles,
    workloads: u64,
    handlers: u64,
    not_judged: u64,
    errors: u64,
    warnings: u64,
    notes: u64,
    suppressed: u64,
    configured: Option<ReportedConfigured>,
}

#[derive(Debug, Deserialize)]
struct ReportedConfigured {
    predictions: u64,
}

#[derive(Debug, Deserialize)]
struct ReportedFiles {
    read: u64,
    broken: u64,
}

/// The numbers of a whole check, not only of this answer.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
pub(in crate::mcp) struct CheckSummary {
    /// Files that were read.
    files: u64,
    /// Files that are not valid or could not be read. Findings name them.
    broken_files: u64,
    /// Workloads in these files.
    workloads: u64,
    /// Probes and hooks of these workloads.
    handlers: u64,
    errors: u64,
    warnings: u64,
    notes: u64,
    /// Findings that the user has suppressed; they are not listed.
    suppressed: u64,
    /// Probes and hooks that would have another outcome without the facts in `.meshprobe.yaml`.
    configured: u64,
    /// Objects and files that could not be judged: no finding there does not mean that the probes work.
    not_judged: u64,
}

/// A finding.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
pub(in crate::mcp) struct Finding {
    /// The id of the rule, for `explain_rule`.
    rule: String,
    /// `error`, `warning` or `note`.
    severity: String,
    /// `known` and `default` rest on the files; `assumed` and `unknown` depend on the assumptions.
    certainty: String,
    /// What is wrong and why.
    message: String,
    /// The file and line of the probe or object.
    at: String,
    /// The object, as `namespace/Kind/name`.
    #[serde(skip_serializing_if = "Option::is_none")]
    object: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    container: Option<String>,
    /// The overlays or deploying objects in which the finding holds, if not everywhere.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    overlays: Vec<String>,
    /// What the probe will do: `fails`, `always-passes`, `target-changed`, `refused`, `unknown` and others.
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<String>,
    /// The text that the kubelet will print in the events of the pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    kubelet: Option<String>,
    /// The lines that decide.
    because: Vec<Fact>,
    /// Facts that the files do not state, each with the parameter of `assume` that sets it.
    assumptions: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    help: Option<String>,
    /// The fix that `propose_fix` shows as a diff.
    #[serde(skip_serializing_if = "Option::is_none")]
    fix: Option<FixSummary>,
}

/// A fix.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
struct FixSummary {
    /// `safe`; `unsafe`, which may change running pods; or `display-only`, which a person must apply.
    applicability: String,
    title: String,
    /// Why it is not safe.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

impl CheckReport {
    pub(in crate::mcp) fn summary(&self) -> CheckSummary {
        let summary = &self.summary;
        CheckSummary {
            files: summary.files.read,
            broken_files: summary.files.broken,
            workloads: summary.workloads,
            handlers: summary.handlers,
            errors: summary.errors,
            warnings: summary.warnings,
            notes: summary.notes,
            suppressed: summary.suppressed,
            configured: summary
                .configured
                .as_ref()
                .map_or(0, |configured| configured.predictions),
            not_judged: summary.not_judged,
        }
    }

    /// Returns the findings that are not suppressed.
    pub(in crate::mcp) fn active(&self) -> impl Iterator<Item = Finding> {
        let active = |finding: &&ReportedFinding| finding.suppressed.is_none();
        self.findings.iter().filter(active).map(Finding::from)
    }
}

impl CheckSummary {
    /// Returns a sentence with the numbers.
    pub(in crate::mcp) fn text(&self) -> String {
        let Self {
            files,
            broken_files,
            workloads,
            handlers,
            errors,
            warnings,
            notes,
            suppressed,
            configured,
            not_judged,
        } = self;
        let mut text = format!(
            "errors: {errors}, warnings: {warnings}, notes: {notes} (files: {files}, workloads: {workloads}, probes and \
             hooks: {handlers})"
        );
        for (name, number) in [
            ("broken files", broken_files),
            ("suppressed", suppressed),
            ("decided by the configuration", configured),
            ("not judged", not_judged),
        ] {
            if *number > 0 {
                text.push_str(&format!(", {name}: {number}"));
            }
        }
        text
    }
}

impl From<&ReportedFinding> for Finding {
    fn from(reported: &ReportedFinding) -> Self {
        Self {
            rule: reported.rule.clone(),
            severity: reported.severity.clone(),
            certainty: reported.certainty.clone(),
            message: clean(&reported.message),
            at: at(&reported.path, reported.line),
            object: reported.object.as_ref().map(Object::name),
            container: reported.container.as_deref().map(clean),
            overlays: clean_all(&reported.overlays),
            outcome: reported.outcome.clone(),
            kubelet: reported.kubelet.as_deref().map(clean),
            because: Fact::all(&reported.related),
            assumptions: clean_all(&reported.assumptions),
            help: reported.help.as_deref().map(clean),
            fix: reported.fix.as_ref().map(|fix| FixSummary {
                applicability: fix.applicability.clone(),
                title: clean(&fix.title),
                reason: fix.reason.as_deref().map(clean),
            }),
        }
    }
}

impl Text for Finding {
    fn write(&self, out: &mut String) {
        let object = self.object.as_deref().unwrap_or_default();
        out.push_str(&format!(
            "{}[{}] {} {object}\n  {}\n",
            self.severity, self.rule, self.at, self.message
        ));
        if let Some(outcome) = &self.outcome {
            line(
                out,
                "outcome",
                Some(&format!("{outcome} ({})", self.certainty)),
            );
        }
        line(out, "kubelet", self.kubelet.as_deref());
        if !self.overlays.is_empty() {
            line(out, "overlays", Some(&self.overlays.join(", ")));
        }
        reasons(out, &self.because, &self.assumptions);
        line(out, "help", self.help.as_deref());
        if let Some(fix) = &self.fix {
            line(
                out,
                "fix",
                Some(&format!("{} ({})", fix.title, fix.applicability)),
            );
        }
    }
}
