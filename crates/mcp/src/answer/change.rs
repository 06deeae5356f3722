//! The changes of `diff`.

use rmcp::schemars::JsonSchema;
use serde::Serialize;

use super::{Fact, Text, assumptions, at, line, reasons, worded};
use crate::error::clean;
use meshprobe_report::changes::{ChangeCounts, ChangeEntry, PredictionEntry, ProbeEntry};

/// The numbers of the whole comparison, not only of this answer.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
pub(crate) struct ChangeSummary {
    /// Probes that become worse.
    regressions: usize,
    /// Probes whose outcome changes, but is neither better nor worse.
    changed: usize,
    /// Probes that become better.
    improvements: usize,
    /// Probes whose outcome does not change.
    unchanged: usize,
    /// Of these, the probes that have a fault in both states; `check` lists them.
    unchanged_faults: usize,
}

/// A probe, or a finding that is not about a probe, that changes.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
pub(crate) struct Change {
    /// `regression`, `changed`, `improvement`, `added` or `removed`.
    class: &'static str,
    /// The file and line.
    at: String,
    /// The probe, as `namespace/Kind/name: slot of container`.
    probe: Option<String>,
    /// The kustomization or deploying object in which the change occurs.
    overlay: Option<String>,
    /// The finding, for a change that is not about a probe.
    finding: Option<String>,
    before: Option<State>,
    after: Option<State>,
}

/// The prediction for a probe in one state.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
struct State {
    /// `ok`, `fails`, `always-passes` and others, as in `predict`.
    outcome: &'static str,
    /// The reason in a few words.
    why: String,
    certainty: &'static str,
    /// The text that the kubelet will print in the events of the pod.
    kubelet: Option<String>,
    /// The request of the kubelet after the rewrite of the mesh.
    rewritten_to: Option<String>,
    /// The lines that decide.
    because: Vec<Fact>,
    /// Facts that the files do not state.
    assumptions: Vec<String>,
}

impl From<ChangeCounts> for ChangeSummary {
    fn from(counts: ChangeCounts) -> Self {
        Self {
            regressions: counts.regressions,
            changed: counts.changed,
            improvements: counts.improvements,
            unchanged: counts.unchanged,
            unchanged_faults: counts.unchanged_faults,
        }
    }
}

impl ChangeSummary {
    /// Returns a sentence with the numbers.
    pub(crate) fn text(&self) -> String {
        let Self {
            regressions,
            changed,
            improvements,
            unchanged,
            unchanged_faults,
        } = self;
        format!(
            "regressions: {regressions}, changed: {changed}, improvements: {improvements}, unchanged: {unchanged} (of \
             these with a fault in both states: {unchanged_faults})"
        )
    }
}

impl From<&ChangeEntry> for Change {
    fn from(change: &ChangeEntry) -> Self {
        let probe = change.probe.as_ref();
        let finding = change.finding.as_ref();
        Self {
            class: change.class,
            at: at(&change.path, change.line),
            probe: probe.map(name),
            overlay: probe.and_then(|probe| probe.overlay.as_deref()).map(clean),
            finding: finding
                .map(|finding| worded(&format!("{}: {}", finding.rule, finding.message))),
            before: change.before.as_ref().map(State::from),
            after: change.after.as_ref().map(State::from),
        }
    }
}

fn name(probe: &ProbeEntry) -> String {
    let namespace = probe.namespace.as_deref().map(|name| format!("{name}/"));
    let namespace = namespace.unwrap_or_default();
    let ProbeEntry {
        kind,
        name,
        container,
        slot,
        ..
    } = probe;
    clean(&format!("{namespace}{kind}/{name}: {slot} of {container}"))
}

impl From<&PredictionEntry> for State {
    fn from(state: &PredictionEntry) -> Self {
        Self {
            outcome: state.outcome,
            why: worded(&state.why),
            certainty: state.certainty,
            kubelet: state.kubelet.as_deref().map(clean),
            rewritten_to: state.rewritten_to.as_deref().map(clean),
            because: Fact::all(&state.because),
            assumptions: assumptions(&state.assumptions),
        }
    }
}

impl Text for Change {
    fn write(&self, out: &mut String) {
        let what = self.probe.as_deref().or(self.finding.as_deref());
        out.push_str(&format!(
            "{} {} {}\n",
            self.class,
            self.at,
            what.unwrap_or_default()
        ));
        line(out, "overlay", self.overlay.as_deref());
        let states = [("before", &self.before), ("after", &self.after)];
        for (name, state) in states {
            if let Some(state) = state {
                let text = format!("{} ({}): {}", state.outcome, state.certainty, state.why);
                line(out, name, Some(&text));
            }
        }
        if let Some(after) = self.after.as_ref().or(self.before.as_ref()) {
            line(out, "kubelet", after.kubelet.as_deref());
            reasons(out, &after.because, &after.assumptions);
        }
    }
}
