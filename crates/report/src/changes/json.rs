//! The JSON format of `diff`, version 1. The names and meanings of fields do not change within a version.

use meshprobe_mesh::finding::{Assumption, Finding};
use serde::Serialize;

use super::Changes;
use crate::json::{NotJudgedEntry, Tool, not_judged_entries};
use crate::text::path_of;
use meshprobe_engine::diff::{Cause, Change, Class, ProbeState, Side};
use meshprobe_engine::engine::{ReasonEntry, source_location};

impl ChangeReport {
    /// Builds the report of all changes.
    #[must_use]
    pub fn new(changes: &Changes<'_>) -> Self {
        let comparison = changes.comparison;
        let count = |class: Class| {
            let all = comparison.changes.iter();
            all.filter(|change| change.class == class).count()
        };
        let state = |name: &str| StateEntry {
            name: name.to_owned(),
        };
        let set = changes.after.set;
        let all = comparison.changes.iter();
        Self {
            version: 1,
            before: state(changes.before.name),
            after: state(changes.after.name),
            changes: all.map(|change| entry(changes, change)).collect(),
            newly_not_judged: not_judged_entries(set, &comparison.newly_not_judged),
            changed_not_judged: not_judged_entries(set, &comparison.changed_not_judged),
            notes: comparison.notes.clone(),
            summary: ChangeCounts {
                regressions: count(Class::Regression),
                added: count(Class::Added),
                changed: count(Class::Changed),
                improvements: count(Class::Improvement),
                removed: count(Class::Removed),
                unchanged: comparison.unchanged,
                unchanged_faults: comparison.unchanged_faults,
                renamed: comparison.renamed,
                unchanged_findings: comparison.unchanged_findings,
                added_without_fault: comparison.added_without_fault,
                suppressed: comparison.suppressed,
            },
            tool: Tool::MESHPROBE,
        }
    }
}

/// The report of `diff`.
#[derive(Debug, Serialize)]
pub struct ChangeReport {
    version: u32,
    before: StateEntry,
    after: StateEntry,
    /// The changes.
    pub changes: Vec<ChangeEntry>,
    /// What only the second state does not judge.
    pub newly_not_judged: Vec<NotJudgedEntry>,
    changed_not_judged: Vec<NotJudgedEntry>,
    notes: Vec<String>,
    /// The numbers of the whole comparison.
    pub summary: ChangeCounts,
    tool: Tool,
}

#[derive(Debug, Serialize)]
struct StateEntry {
    name: String,
}

/// The numbers of a comparison.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct ChangeCounts {
    pub regressions: usize,
    pub added: usize,
    pub changed: usize,
    pub improvements: usize,
    removed: usize,
    pub unchanged: usize,
    pub unchanged_faults: usize,
    renamed: usize,
    unchanged_findings: usize,
    added_without_fault: usize,
    suppressed: usize,
}

/// A probe, or a finding that is not about a probe, that changes.
#[derive(Debug, Serialize)]
pub struct ChangeEntry {
    pub class: &'static str,
    /// The state that contains `path` and `line`.
    state: &'static str,
    pub path: String,
    pub line: Option<usize>,
    column: Option<usize>,
    /// The handler; null for a finding that is not about a handler.
    pub probe: Option<ProbeEntry>,
    pub before: Option<PredictionEntry>,
    pub after: Option<PredictionEntry>,
    /// The finding; null for a handler.
    pub finding: Option<ChangedFinding>,
    cause: Option<CauseEntry>,
    /// What still contains a handler that an environment does not deploy any more; null for all other changes.
    remains: Option<String>,
}

/// The probe of a change.
#[derive(Debug, Serialize)]
pub struct ProbeEntry {
    pub kind: String,
    pub namespace: Option<String>,
    pub name: String,
    pub container: String,
    pub slot: &'static str,
    environment: Option<String>,
    pub overlay: Option<String>,
    /// What was named differently before, such as "container `web`".
    renamed_from: Option<String>,
}

/// The prediction in one state.
#[derive(Debug, Serialize)]
pub struct PredictionEntry {
    pub outcome: &'static str,
    pub why: String,
    pub certainty: &'static str,
    pub kubelet: Option<String>,
    probe: String,
    pub rewritten_to: Option<String>,
    pub assumptions: Vec<Assumption>,
    pub because: Vec<ReasonEntry>,
}

/// The finding of a change.
#[derive(Debug, Serialize)]
pub struct ChangedFinding {
    pub rule: &'static str,
    severity: &'static str,
    certainty: &'static str,
    pub message: String,
    object: Option<String>,
    container: Option<String>,
    field: Option<String>,
}

/// The cause of a change.
#[derive(Debug, Serialize)]
struct CauseEntry {
    message: String,
    path: Option<String>,
    line: Option<usize>,
    /// The state that contains the line.
    state: &'static str,
    /// The file of the mesh, the issue or the measurement that shows the behaviour.
    source: Option<&'static str>,
}

fn entry(changes: &Changes<'_>, change: &Change) -> ChangeEntry {
    let set = changes.state_of_change(change).set;
    let place = change.place().map(|label| source_location(set, label));
    let start = place.as_ref().and_then(|place| place.place);
    let (before, after) = change.probe_states();
    let path = place.as_ref().map(|place| place.path.to_string());
    ChangeEntry {
        class: change.class.as_str(),
        state: if change.is_gone() { "before" } else { "after" },
        path: path.unwrap_or_default(),
        line: start.map(|place| place.start.line),
        column: start.map(|place| place.start.column),
        probe: change.probe().map(|found| probe(change, found)),
        before: before.map(prediction),
        after: after.map(prediction),
        finding: change.finding().map(finding),
        cause: change.cause.as_ref().map(|found| cause(changes, found)),
        remains: change.remains.clone(),
    }
}

fn probe(change: &Change, state: &ProbeState) -> ProbeEntry {
    let id = &state.id;
    let (before, after) = change.probe_states();
    ProbeEntry {
        kind: id.kind.clone(),
        namespace: id.namespace.clone(),
        name: id.name.clone(),
        container: id.container.clone(),
        slot: id.slot,
        environment: state.environment_name.as_ref().map(ToString::to_string),
        overlay: id.environment.clone(),
        renamed_from: before
            .zip(after)
            .and_then(|(old, new)| new.renamed_from(old)),
    }
}

fn prediction(state: &ProbeState) -> PredictionEntry {
    PredictionEntry {
        outcome: state.outcome.as_str(),
        why: state.why.to_owned(),
        certainty: state.certainty.as_str(),
        kubelet: state.kubelet.clone(),
        probe: state.written.clone(),
        rewritten_to: Some(state.rewritten_to.clone()).filter(|text| !text.is_empty()),
        assumptions: state.assumptions.clone(),
        because: state
            .because
            .iter()
            .map(|found| found.clone().without_rendered())
            .collect(),
    }
}

fn finding(finding: &Finding) -> ChangedFinding {
    ChangedFinding {
        rule: finding.rule.as_str(),
        severity: finding.severity.as_str(),
        certainty: finding.certainty.as_str(),
        message: finding.message.clone(),
        object: finding.object.as_ref().map(path_of),
        container: finding.container.clone(),
        field: finding.field.clone(),
    }
}

fn cause(changes: &Changes<'_>, cause: &Cause) -> CauseEntry {
    let set = changes.state_of(cause.side).set;
    let place = cause
        .place
        .as_ref()
        .map(|label| source_location(set, label));
    CauseEntry {
        message: cause.message.clone(),
        path: place.as_ref().map(|place| place.path.to_string()),
        line: place.and_then(|place| place.place.map(|place| place.start.line)),
        state: match cause.side {
            Side::Before => "before",
            Side::After => "after",
        },
        source: cause.source,
    }
}
