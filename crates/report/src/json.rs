//! The JSON format of `check`, version 1, and what it shares with the other commands. The names and meanings of fields do not
//! change within a version.

use meshprobe_mesh::finding::{Assumption, Environment, Finding, Fix, Label, ObjectRef};
use meshprobe_predict::context::NotJudged;
use meshprobe_tree::source::SourceSet;
use serde::{Serialize, Serializer};

use super::escape::json_safe;
use super::summary::RuleCount;
use meshprobe_engine::engine::{
    Outcome, ReasonEntry, RenderedEntry, Summary, WorkloadReport, source_location,
};

/// The result of `check`. Suppressed findings are included and marked.
#[derive(Debug, Serialize)]
pub struct CheckReport {
    version: u32,
    /// The findings.
    pub findings: Vec<FindingEntry>,
    /// What is not judged.
    pub not_judged: Vec<NotJudgedEntry>,
    #[serde(skip_serializing_if = "Option::is_none")]
    statistics: Option<Vec<RuleCount>>,
    /// The counts of the run.
    pub summary: Summary,
    tool: Tool,
}

/// A finding.
#[derive(Debug, Serialize)]
pub struct FindingEntry {
    pub rule: &'static str,
    pub severity: &'static str,
    pub certainty: &'static str,
    pub message: String,
    pub path: String,
    document: usize,
    pub line: Option<usize>,
    column: Option<usize>,
    end_line: Option<usize>,
    end_column: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rendered: Option<RenderedEntry>,
    pub object: Option<ObjectRef>,
    pub container: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub overlays: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    environments: Vec<EnvironmentEntry>,
    field: Option<String>,
    pub outcome: Option<&'static str>,
    pub kubelet: Option<String>,
    pub related: Vec<RelatedEntry>,
    pub assumptions: Vec<Assumption>,
    pub help: Option<String>,
    pub fix: Option<FixEntry>,
    suppressed: Option<SuppressedEntry>,
}

/// An environment that deploys the object of a finding.
#[derive(Debug, Serialize)]
struct EnvironmentEntry {
    name: String,
    path: String,
    affected: bool,
    outcome: Option<&'static str>,
    certainty: &'static str,
}

#[derive(Debug, Serialize)]
struct SuppressedEntry {
    by: &'static str,
    reason: String,
    path: String,
    line: usize,
}

/// The fix of a finding.
#[derive(Debug, Serialize)]
pub struct FixEntry {
    pub applicability: &'static str,
    pub reason: Option<String>,
    pub title: String,
    edits: Vec<EditEntry>,
}

#[derive(Debug, Serialize)]
struct EditEntry {
    path: String,
    start: usize,
    end: usize,
    text: String,
}

impl CheckReport {
    /// Builds the report.
    #[must_use]
    pub fn new(set: &SourceSet, outcome: &Outcome, statistics: Option<Vec<RuleCount>>) -> Self {
        let findings = outcome.all().into_iter();
        Self {
            version: 1,
            findings: findings
                .map(|finding| FindingEntry::new(set, finding))
                .collect(),
            not_judged: not_judged_entries(set, &outcome.not_judged),
            statistics,
            summary: outcome.summary.clone(),
            tool: Tool::MESHPROBE,
        }
    }
}

impl FindingEntry {
    fn new(set: &SourceSet, finding: &Finding) -> Self {
        let location = source_location(set, &finding.primary);
        let place = location.place;
        let environments = finding.environments.iter();
        Self {
            rule: finding.rule.as_str(),
            severity: finding.severity.as_str(),
            certainty: finding.certainty.as_str(),
            message: finding.message.clone(),
            path: location.path.to_string(),
            document: finding.document,
            line: place.map(|place| place.start.line),
            column: place.map(|place| place.start.column),
            end_line: place.map(|place| place.end.line),
            end_column: place.map(|place| place.end.column),
            rendered: RenderedEntry::of(&location),
            object: finding.object.clone(),
            container: finding.container.clone(),
            overlays: finding.overlays.iter().map(ToString::to_string).collect(),
            environments: environments
                .map(|environment| EnvironmentEntry::new(finding, environment))
                .collect(),
            field: finding.field.clone(),
            outcome: finding.outcome,
            kubelet: finding.kubelet.clone(),
            related: finding
                .related
                .iter()
                .map(|label| RelatedEntry::new(set, label))
                .collect(),
            assumptions: finding.assumptions.clone(),
            help: finding.help.clone(),
            fix: finding.fix.as_ref().map(FixEntry::new),
            suppressed: finding
                .suppressed
                .as_ref()
                .map(|suppression| SuppressedEntry {
                    by: suppression.by.as_str(),
                    reason: suppression.reason.clone(),
                    path: suppression.path.to_string(),
                    line: suppression.line,
                }),
        }
    }

    /// Returns whether the user has suppressed the finding.
    #[must_use]
    pub const fn is_suppressed(&self) -> bool {
        self.suppressed.is_some()
    }
}

impl EnvironmentEntry {
    fn new(finding: &Finding, environment: &Environment) -> Self {
        let outcome = environment.differs.map(|differs| differs.id);
        Self {
            name: environment.name.to_string(),
            path: environment.path.to_string(),
            affected: environment.differs.is_none(),
            outcome: outcome.or(finding.outcome),
            certainty: environment.certainty.as_str(),
        }
    }
}

impl FixEntry {
    fn new(fix: &Fix) -> Self {
        let edits = fix.edits.iter();
        Self {
            applicability: fix.applicability.as_str(),
            reason: fix.applicability.reason().map(str::to_owned),
            title: fix.title.clone(),
            edits: edits
                .map(|edit| EditEntry {
                    path: edit.path.to_string(),
                    start: edit.span.start,
                    end: edit.span.end,
                    text: edit.text.clone(),
                })
                .collect(),
        }
    }
}

/// Returns a report as JSON with a final line break.
///
/// # Errors
/// Never in practice: all keys are strings.
pub fn json(value: &impl Serialize) -> serde_json::Result<String> {
    Ok(json_safe(&serde_json::to_string_pretty(value)?) + "\n")
}

/// The program that has written a report.
#[derive(Debug, Serialize)]
pub(super) struct Tool {
    name: &'static str,
    version: &'static str,
}

impl Tool {
    pub(super) const MESHPROBE: Self = Self {
        name: "meshprobe",
        version: env!("CARGO_PKG_VERSION"),
    };
}

/// A line that a finding refers to.
#[derive(Debug, Serialize)]
pub struct RelatedEntry {
    /// The file.
    pub path: String,
    /// The line.
    pub line: Option<usize>,
    column: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rendered: Option<RenderedEntry>,
    /// What it states.
    pub message: String,
}

impl RelatedEntry {
    pub(super) fn new(set: &SourceSet, label: &Label) -> Self {
        let location = source_location(set, label);
        Self {
            path: location.path.to_string(),
            line: location.line(),
            column: location.place.map(|place| place.start.column),
            rendered: RenderedEntry::of(&location),
            message: label.message.clone(),
        }
    }
}

/// The report of `predict`, version 1: one entry per workload, in the order of the tree.
#[derive(Debug, Serialize)]
pub struct PredictReport {
    version: u32,
    /// The workloads.
    pub workloads: Vec<WorkloadReport>,
    /// Virtual machines; omitted if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty", serialize_with = "machines")]
    pub machines: Vec<WorkloadReport>,
    /// What is not judged.
    pub not_judged: Vec<NotJudgedEntry>,
}

impl PredictReport {
    /// Builds the report of the workloads and machines, and of what is not judged.
    #[must_use]
    pub fn new(set: &SourceSet, reports: Vec<WorkloadReport>, not_judged: &[NotJudged]) -> Self {
        let (machines, workloads) = reports.into_iter().partition(|report| report.is_machine);
        Self {
            version: 1,
            workloads,
            machines,
            not_judged: not_judged_entries(set, not_judged),
        }
    }
}

/// The check of a virtual machine.
#[derive(Serialize)]
struct MachineEntry<'a> {
    path: &'a str,
    document: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    rendered: Option<&'a RenderedEntry>,
    object: &'a ObjectRef,
    overlay: Option<&'a str>,
    kind: &'a str,
    field: &'a str,
    line: Option<usize>,
    outcome: &'a str,
    why: &'a str,
    certainty: &'a str,
    assumptions: &'a [Assumption],
    because: &'a [ReasonEntry],
}

fn machines<S: Serializer>(reports: &[WorkloadReport], to: S) -> Result<S::Ok, S::Error> {
    let checks = reports
        .iter()
        .flat_map(|group| group.handlers.iter().map(move |probe| (group, probe)));
    to.collect_seq(checks.map(|(group, probe)| MachineEntry {
        path: &group.path,
        document: group.document,
        rendered: group.rendered.as_ref(),
        object: &group.object,
        overlay: group.overlay.as_deref(),
        kind: probe.kind,
        field: &probe.field,
        line: probe.line,
        outcome: probe.outcome.as_str(),
        why: probe.why,
        certainty: probe.certainty.as_str(),
        assumptions: &probe.assumptions,
        because: &probe.because,
    }))
}

/// Something that runs pods and is not judged.
#[derive(Debug, Serialize)]
pub struct NotJudgedEntry {
    /// The id of the reason.
    pub reason: &'static str,
    /// What is not judged, and why.
    pub message: String,
    /// The file.
    pub path: String,
    /// The line.
    pub line: Option<usize>,
    column: Option<usize>,
    /// The object.
    pub object: Option<ObjectRef>,
    /// What to do.
    pub help: String,
}

/// Returns the entries of a report.
pub(super) fn not_judged_entries(set: &SourceSet, found: &[NotJudged]) -> Vec<NotJudgedEntry> {
    let entry = |found: &NotJudged| {
        let location = source_location(set, &found.place);
        NotJudgedEntry {
            reason: found.reason.id(),
            message: found.place.message.clone(),
            path: location.path.to_string(),
            line: location.line(),
            column: location.place.map(|place| place.start.column),
            object: found.object.clone(),
            help: found.help.clone(),
        }
    };
    found.iter().map(entry).collect()
}
