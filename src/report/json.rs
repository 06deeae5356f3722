//! The JSON format of `check`, version 1, and what it shares with the other commands. The names and meanings of fields do not
//! change within a version.

use meshprobe_mesh::finding::{Environment, Finding, Fix, Label, ObjectRef};
use meshprobe_mesh::mesh::Reason;
use meshprobe_predict::context::NotJudged;
use meshprobe_tree::source::SourceSet;
use serde::Serialize;

use super::escape::json_safe;
use super::report_root::{SourceLocation, source_location};
use super::summary::RuleCount;
use crate::engine::{Outcome, Summary};

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
    pub assumptions: Vec<String>,
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
        name: env!("CARGO_PKG_NAME"),
        version: env!("CARGO_PKG_VERSION"),
    };
}

/// The line of a rendered file, if a tool has generated it.
#[derive(Debug, Serialize)]
pub(super) struct RenderedEntry {
    path: String,
    line: Option<usize>,
}

impl RenderedEntry {
    pub(super) fn of(location: &SourceLocation) -> Option<Self> {
        let (path, place) = location.rendered.as_ref()?;
        Some(Self {
            path: path.to_string(),
            line: place.map(|place| place.start.line),
        })
    }
}

/// A reason for an outcome, with its place in the file that the user edits.
#[derive(Debug, Serialize)]
pub struct ReasonEntry {
    /// The file; `None` if no file states the reason.
    pub path: Option<String>,
    /// The line.
    pub line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rendered: Option<RenderedEntry>,
    /// What it states.
    pub message: String,
}

impl ReasonEntry {
    pub(super) fn new(set: &SourceSet, reason: &Reason) -> Self {
        let location = reason.place.as_ref();
        let location = location.map(|label| source_location(set, label));
        let location = location.as_ref();
        Self {
            path: location.map(|location| location.path.to_string()),
            line: location.and_then(SourceLocation::line),
            rendered: location.and_then(RenderedEntry::of),
            message: reason.message.clone(),
        }
    }

    /// Returns the reason without the line of the rendered file.
    pub(super) fn without_rendered(self) -> Self {
        Self {
            rendered: None,
            ..self
        }
    }
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
