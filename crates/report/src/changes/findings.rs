//! Regressions as findings, for the formats that `check` shares with `diff`.

use std::sync::Arc;

use meshprobe_mesh::finding::{Certainty, Finding, Label, ProbeRef, Severity};

use super::Changes;
use meshprobe_engine::diff::{Change, Class, ProbeState, Side, groups};
use meshprobe_engine::engine::{Outcome, PROBE_REGRESSION};

/// Returns the changes that are regressions or additions with a fault as the result of a check. Each finding has the
/// outcome before the change in its message, and the line that causes it among its related lines.
#[must_use]
pub fn regressions(changes: &Changes<'_>) -> Outcome {
    let wanted = changes
        .comparison
        .changes
        .iter()
        .filter(|change| matches!(change.class, Class::Regression | Class::Added));
    let mut findings: Vec<Finding> = Vec::new();
    for finding in wanted.filter_map(|change| as_finding(changes, change)) {
        // A finding about a pod is that of all its handlers.
        let is_known = |known: &Finding| {
            let is_same = known.rule == finding.rule && known.overlays == finding.overlays;
            is_same && known.primary.is_at(&finding.primary)
        };
        if finding.probe.is_some() || !findings.iter().any(is_known) {
            findings.push(finding);
        }
    }
    let mut outcome = Outcome {
        not_judged: [
            &*changes.comparison.newly_not_judged,
            &changes.comparison.changed_not_judged,
        ]
        .concat(),
        summary: changes.after.state.summary.clone(),
        ..Outcome::default()
    };
    outcome.summary.suppressed = changes.comparison.suppressed;
    outcome.summary.not_judged = outcome.not_judged.len();
    outcome.summary.count_findings(&findings);
    outcome.findings = findings;
    outcome
}

/// Adds a finding at each cause, so that the line of a pull request that breaks several probes is annotated once.
#[must_use]
pub fn with_causes(changes: &Changes<'_>, mut outcome: Outcome) -> Outcome {
    let groups = groups(&changes.comparison.changes);
    let causes = groups
        .iter()
        .filter(|group| group.class == Class::Regression);
    let at_causes: Vec<Finding> = causes
        .filter_map(|group| {
            let cause = group.cause.filter(|cause| cause.side == Side::After)?;
            let label = cause.place.clone()?;
            group.changes.first()?.probe()?;
            Some(Finding::new(
                PROBE_REGRESSION,
                Severity::Error,
                label,
                changes.sentence(group),
            ))
        })
        .collect();
    outcome.findings.splice(0..0, at_causes);
    outcome
}

fn as_finding(changes: &Changes<'_>, change: &Change) -> Option<Finding> {
    if let Some(finding) = change.finding() {
        return Some(finding.clone());
    }
    let (before, after) = change.probe_states();
    let after = after?;
    let mut finding = reported(changes, after).unwrap_or_else(|| unreported(after));
    if let Some(before) = before {
        finding
            .message
            .push_str(&format!(" (before: {})", before.outcome.as_str()));
    }
    let Some(cause) = &change.cause else {
        return Some(finding);
    };
    match (&cause.place, cause.side) {
        (Some(label), _) if finding.primary.is_at(label) => {}
        (Some(label), Side::After) => {
            finding.related.retain(|other| !other.is_at(label));
            finding.related.insert(0, label.clone());
        }
        (Some(label), Side::Before) => {
            let line = changes.places(changes.before).place(label);
            let text = format!("; cause: the removal of {line}: {}", cause.message);
            finding.message.push_str(&text);
        }
        (None, _) => finding
            .message
            .push_str(&format!("; cause: {}", cause.message)),
    }
    Some(finding)
}

/// Returns the finding of `check` about a handler, limited to its environment.
fn reported(changes: &Changes<'_>, probe: &ProbeState) -> Option<Finding> {
    let state = changes.after.state;
    let environment = probe.id.environment.as_deref();
    let is_environment = |path: &str| Some(&*state.relative(path)) == environment;
    let found = state.findings.iter().find(|finding| {
        let overlays = &finding.overlays;
        let is_subject =
            probe.is_subject_of(finding) || probe.is_decided_at(finding, changes.after.set);
        is_subject && (overlays.is_empty() || overlays.iter().any(|path| is_environment(path)))
    });
    let mut finding = found?.clone();
    finding.overlays.retain(|path| is_environment(path));
    finding
        .environments
        .retain(|found| is_environment(&found.path));
    Some(finding)
}

/// Returns a finding about a handler that no rule reports on its own, such as one of a pod that is refused.
fn unreported(probe: &ProbeState) -> Finding {
    let label = Label {
        path: Arc::clone(&probe.place.path),
        span: probe.place.span,
        message: String::new(),
    };
    let severity = match probe.certainty {
        Certainty::Known | Certainty::Default => Severity::Error,
        Certainty::Assumed | Certainty::Unknown => Severity::Warning,
    };
    let message = format!(
        "{} of {}: {}: {}",
        probe.title(),
        probe.id.workload(),
        probe.outcome.as_str(),
        probe.why
    );
    let mut finding = Finding::new(PROBE_REGRESSION, severity, label.clone(), message);
    finding.certainty = probe.certainty;
    finding.outcome = Some(probe.outcome.as_str());
    finding.kubelet.clone_from(&probe.kubelet);
    finding.probe = Some(ProbeRef {
        title: probe.title(),
        slot: probe.id.slot,
        path: label.path,
        span: label.span,
    });
    finding
}
