//! The JSON format of `diff`, version 1. The names and meanings of fields do not change within a version.

use serde::Serialize;

use crate::diff::{Cause, Change, Class, ProbeState, Side};
use crate::finding::Finding;
use crate::mesh::Reason;
use crate::report::escape::json_safe;
use crate::report::not_judged_entry::{NotJudgedEntry, not_judged_entries};
use crate::report::source_location::source_location;
use crate::source::SourceSet;

use super::Changes;

/// Returns all changes.
///
/// # Errors
/// Never in practice: all keys are strings.
pub fn json(changes: &Changes<'_>) -> serde_json::Result<String> {
    let comparison = changes.comparison;
    let count = |class: Class| {
        let all = comparison.changes.iter();
        all.filter(|change| change.class == class).count()
    };
    let report = Report {
        version: 1,
        before: StateEntry {
            name: changes.before.name,
        },
        after: StateEntry {
            name: changes.after.name,
        },
        changes: comparison
            .changes
            .iter()
            .map(|change| entry(changes, change))
            .collect(),
        newly_not_judged: not_judged_entries(changes.after.set, &comparison.newly_not_judged),
        changed_not_judged: not_judged_entries(changes.after.set, &comparison.changed_not_judged),
        notes: &comparison.notes,
        summary: Summary {
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
        tool: Tool {
            name: env!("CARGO_PKG_NAME"),
            version: env!("CARGO_PKG_VERSION"),
        },
    };
    Ok(json_safe(&serde_json::to_string_pretty(&report)?) + "\n")
}

#[derive(Serialize)]
struct Report<'a> {
    version: u32,
    before: StateEntry<'a>,
    after: StateEntry<'a>,
    changes: Vec<ChangeEntry<'a>>,
    newly_not_judged: Vec<NotJudgedEntry>,
    changed_not_judged: Vec<NotJudgedEntry>,
    notes: &'a [String],
    summary: Summary,
    tool: Tool,
}

#[derive(Serialize)]
struct StateEntry<'a> {
    name: &'a str,
}

#[derive(Serialize)]
struct Summary {
    regressions: usize,
    added: usize,
    changed: usize,
    improvements: usize,
    removed: usize,
    unchanged: usize,
    unchanged_faults: usize,
    renamed: usize,
    unchanged_findings: usize,
    added_without_fault: usize,
    suppressed: usize,
}

#[derive(Serialize)]
struct Tool {
    name: &'static str,
    version: &'static str,
}

#[derive(Serialize)]
struct ChangeEntry<'a> {
    class: &'static str,
    /// The state that contains `path` and `line`.
    state: &'static str,
    path: String,
    line: Option<usize>,
    column: Option<usize>,
    /// The handler; null for a finding that is not about a handler.
    probe: Option<ProbeEntry<'a>>,
    before: Option<PredictionEntry<'a>>,
    after: Option<PredictionEntry<'a>>,
    /// The finding; null for a handler.
    finding: Option<FindingEntry<'a>>,
    cause: Option<CauseEntry<'a>>,
    /// What still contains a handler that an environment does not deploy any more; null for all other changes.
    remains: Option<&'a str>,
}

#[derive(Serialize)]
struct ProbeEntry<'a> {
    kind: &'a str,
    namespace: Option<&'a str>,
    name: &'a str,
    container: &'a str,
    slot: &'static str,
    environment: Option<&'a str>,
    overlay: Option<&'a str>,
    /// What was named differently before, such as "container `web`".
    renamed_from: Option<String>,
}

#[derive(Serialize)]
struct PredictionEntry<'a> {
    outcome: &'static str,
    why: &'a str,
    certainty: &'static str,
    kubelet: Option<&'a str>,
    probe: &'a str,
    rewritten_to: Option<&'a str>,
    assumptions: &'a [String],
    because: Vec<ReasonEntry<'a>>,
}

#[derive(Serialize)]
struct ReasonEntry<'a> {
    path: Option<String>,
    line: Option<usize>,
    message: &'a str,
}

#[derive(Serialize)]
struct FindingEntry<'a> {
    rule: &'a str,
    severity: &'static str,
    certainty: &'static str,
    message: &'a str,
    object: Option<String>,
    container: Option<&'a str>,
    field: Option<&'a str>,
}

#[derive(Serialize)]
struct CauseEntry<'a> {
    message: &'a str,
    path: Option<String>,
    line: Option<usize>,
    /// The state that contains the line.
    state: &'static str,
    /// The file of the mesh, the issue or the measurement that shows the behaviour.
    source: Option<&'static str>,
}

fn entry<'a>(changes: &Changes<'_>, change: &'a Change) -> ChangeEntry<'a> {
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
        before: before.map(|state| prediction(changes.before.set, state)),
        after: after.map(|state| prediction(changes.after.set, state)),
        finding: change.finding().map(finding),
        cause: change.cause.as_ref().map(|found| cause(changes, found)),
        remains: change.remains.as_deref(),
    }
}

fn probe<'a>(change: &Change, state: &'a ProbeState) -> ProbeEntry<'a> {
    let id = &state.id;
    let (before, after) = change.probe_states();
    ProbeEntry {
        kind: &id.kind,
        namespace: id.namespace.as_deref(),
        name: &id.name,
        container: &id.container,
        slot: id.slot,
        environment: state.environment_name.as_deref(),
        overlay: id.environment.as_deref(),
        renamed_from: before
            .zip(after)
            .and_then(|(old, new)| new.renamed_from(old)),
    }
}

fn prediction<'a>(set: &SourceSet, state: &'a ProbeState) -> PredictionEntry<'a> {
    PredictionEntry {
        outcome: state.outcome.as_str(),
        why: &state.why,
        certainty: state.certainty.as_str(),
        kubelet: state.kubelet.as_deref(),
        probe: &state.written,
        rewritten_to: Some(&*state.rewritten_to).filter(|text| !text.is_empty()),
        assumptions: &state.assumptions,
        because: state
            .because
            .iter()
            .map(|found| reason(set, found))
            .collect(),
    }
}

fn reason<'a>(set: &SourceSet, reason: &'a Reason) -> ReasonEntry<'a> {
    let label = reason.place.as_ref();
    let place = label.map(|label| source_location(set, label));
    ReasonEntry {
        path: place.as_ref().map(|place| place.path.to_string()),
        line: place.and_then(|place| place.place.map(|place| place.start.line)),
        message: &reason.message,
    }
}

fn finding(finding: &Finding) -> FindingEntry<'_> {
    let object = finding.object.as_ref();
    FindingEntry {
        rule: finding.rule.as_str(),
        severity: finding.severity.as_str(),
        certainty: finding.certainty.as_str(),
        message: &finding.message,
        object: object.map(|object| {
            let parts = [
                object.namespace.as_deref(),
                Some(&object.kind),
                Some(&object.name),
            ];
            parts.into_iter().flatten().collect::<Vec<_>>().join("/")
        }),
        container: finding.container.as_deref(),
        field: finding.field.as_deref(),
    }
}

fn cause<'a>(changes: &Changes<'_>, cause: &'a Cause) -> CauseEntry<'a> {
    let set = changes.state_of(cause.side).set;
    let place = cause
        .place
        .as_ref()
        .map(|label| source_location(set, label));
    CauseEntry {
        message: &cause.message,
        path: place.as_ref().map(|place| place.path.to_string()),
        line: place.and_then(|place| place.place.map(|place| place.start.line)),
        state: match cause.side {
            Side::Before => "before",
            Side::After => "after",
        },
        source: cause.source,
    }
}
