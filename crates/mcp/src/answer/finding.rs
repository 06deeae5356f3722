//! The findings and numbers of `check`.

use rmcp::schemars::JsonSchema;
use serde::Serialize;

use super::{Fact, Text, assumptions, at, help, line, name, reasons, worded};
use crate::error::{clean, clean_all};
use meshprobe_engine::engine::Summary;
use meshprobe_report::FindingEntry;

/// The numbers of a whole check, not only of this answer.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
pub(crate) struct CheckSummary {
    /// Files that were read.
    files: usize,
    /// Files that are not valid or could not be read. Findings name them.
    broken_files: usize,
    /// Workloads in these files.
    workloads: usize,
    /// Probes and hooks of these workloads.
    handlers: usize,
    errors: usize,
    warnings: usize,
    notes: usize,
    /// Findings that the user has suppressed; they are not listed.
    suppressed: usize,
    /// Probes and hooks that would have another outcome without the facts in `.meshprobe.yaml`.
    configured: usize,
    /// Objects and files that could not be judged: no finding there does not mean that the probes work.
    not_judged: usize,
}

/// A finding.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
pub(crate) struct Finding {
    /// The id of the rule, for `explain_rule`.
    rule: &'static str,
    /// `error`, `warning` or `note`.
    severity: &'static str,
    /// `known` and `default` rest on the files; `assumed` and `unknown` depend on the assumptions.
    certainty: &'static str,
    /// What is wrong and why.
    message: String,
    /// The file and line of the probe or object.
    at: String,
    /// The object, as `namespace/Kind/name`.
    object: Option<String>,
    container: Option<String>,
    /// The overlays or deploying objects in which the finding holds, if not everywhere.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    overlays: Vec<String>,
    /// What the probe will do: `fails`, `always-passes`, `target-changed`, `refused`, `unknown` and others.
    outcome: Option<&'static str>,
    /// The text that the kubelet will print in the events of the pod.
    kubelet: Option<String>,
    /// The lines that decide.
    because: Vec<Fact>,
    /// Facts that the files do not state, each with the parameter of `assume` that sets it.
    assumptions: Vec<String>,
    help: Option<String>,
    /// The fix that `propose_fix` shows as a diff.
    fix: Option<FixSummary>,
}

/// A fix.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
struct FixSummary {
    /// `safe`; `unsafe`, which may change running pods; or `display-only`, which a person must apply.
    applicability: &'static str,
    title: String,
    /// Why it is not safe.
    reason: Option<String>,
}

impl From<&Summary> for CheckSummary {
    fn from(summary: &Summary) -> Self {
        let configured = summary.configured.as_ref();
        Self {
            files: summary.files.read,
            broken_files: summary.files.broken,
            workloads: summary.workloads,
            handlers: summary.handlers,
            errors: summary.errors,
            warnings: summary.warnings,
            notes: summary.notes,
            suppressed: summary.suppressed,
            configured: configured.map_or(0, |configured| configured.predictions),
            not_judged: summary.not_judged,
        }
    }
}

impl CheckSummary {
    /// Returns a sentence with the numbers.
    pub(crate) fn text(&self) -> String {
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

impl From<&FindingEntry> for Finding {
    fn from(reported: &FindingEntry) -> Self {
        Self {
            rule: reported.rule,
            severity: reported.severity,
            certainty: reported.certainty,
            message: worded(&reported.message),
            at: at(&reported.path, reported.line),
            object: reported.object.as_ref().map(name),
            container: reported.container.as_deref().map(clean),
            overlays: clean_all(&reported.overlays),
            outcome: reported.outcome,
            kubelet: reported.kubelet.as_deref().map(clean),
            because: Fact::all(&reported.related),
            assumptions: assumptions(&reported.assumptions),
            help: reported.help.as_deref().and_then(help),
            fix: reported.fix.as_ref().map(|fix| FixSummary {
                applicability: fix.applicability,
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
