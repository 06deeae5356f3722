//! One line per change: `path:line: regression: ok -> fails: readinessProbe of container `web` of Deployment `web``.

use meshprobe_mesh::finding::Label;

use super::Changes;
use crate::diff::Change;
use crate::report::escape::escape_control;
use crate::report::terminal_style::{TerminalStyle, Tone};

/// Returns one line per change.
#[must_use]
pub fn concise(changes: &Changes<'_>, style: TerminalStyle) -> String {
    let lines = changes.comparison.changes.iter().map(|change| {
        let place = style.paint(Tone::Strong, &escape_control(&changes.place(change)));
        format!("{place}: {}\n", escape_control(&text(changes, change)))
    });
    lines.collect()
}

fn text(changes: &Changes<'_>, change: &Change) -> String {
    let class = change.class.as_str();
    if let Some(finding) = change.finding() {
        return format!("{class}[{}]: {}", finding.rule, finding.message);
    }
    let Some(probe) = change.probe() else {
        return class.to_owned();
    };
    let (before, after) = change.probe_states();
    let outcome = |state: Option<&crate::diff::ProbeState>| {
        state.map_or("none", |state| state.outcome.as_str())
    };
    let environment = probe.environment_name.as_deref();
    let environment = environment.map(|name| format!(" in {name}"));
    let is_own = |label: &Label| change.place().is_some_and(|own| own.is_at(label));
    let causes = change.cause.as_ref();
    let cause = causes.filter(|cause| !cause.place.as_ref().is_some_and(is_own));
    let cause = cause.map(|cause| match &cause.place {
        Some(label) => {
            let set = changes.state_of(cause.side).set;
            let place = changes.line(set, label);
            format!(" (cause: {place}: {})", cause.message)
        }
        None => format!(" (cause: {})", cause.message),
    });
    format!(
        "{class}: {} -> {}: {} of {}{}: {}{}",
        outcome(before),
        outcome(after),
        probe.title(),
        probe.id.workload(),
        environment.unwrap_or_default(),
        changes.why(change, probe),
        cause.unwrap_or_default()
    )
}
