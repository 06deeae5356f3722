//! The rows of the table that `predict` prints.

use std::sync::Arc;

use meshprobe_mesh::finding::sentence_list;
use meshprobe_predict::predict::{
    HandlerPrediction, MachinePrediction, WorkloadPrediction, handler_text, handler_title,
    rewritten_text,
};

/// One row of the table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// `shop/Deployment/web`, with its namespace if one is written.
    pub workload: String,
    /// The container.
    pub container: String,
    /// `readinessProbe`.
    pub slot: String,
    /// The handler as written: `http :8080/healthz`.
    pub probe: String,
    /// The handler after the rewrite; empty if it is not rewritten.
    pub rewritten_to: String,
    /// The outcome.
    pub outcome: &'static str,
    /// A short description of the cause. The JSON report contains the facts behind it.
    pub why: String,
    /// The names of the environments to which the row applies; empty if the workload has only one.
    pub environments: Vec<Arc<str>>,
}

/// Returns one row per handler, without workloads that are only context.
#[must_use]
pub fn rows(predictions: &[WorkloadPrediction<'_>]) -> Vec<Row> {
    let shown = predictions.iter().flat_map(WorkloadPrediction::shown);
    shown
        .map(|(pod, handler)| handler_row(pod, handler))
        .collect()
}

impl Row {
    /// Returns the handler's name for messages: "readinessProbe of container `web`".
    #[must_use]
    pub fn title(&self) -> String {
        match self.container.as_str() {
            "" => self.slot.clone(),
            container => handler_title(&self.slot, container),
        }
    }

    /// Returns whether both rows have the same handler, written and rewritten in the same way.
    #[must_use]
    pub fn is_same_probe(&self, other: &Self) -> bool {
        self.is_of(other)
            && (&self.probe, &self.rewritten_to) == (&other.probe, &other.rewritten_to)
    }

    /// Returns whether both rows are about the same handler.
    #[must_use]
    pub fn is_of(&self, other: &Self) -> bool {
        (&self.container, &self.slot) == (&other.container, &other.slot)
    }

    /// Returns whether both rows are equal except for their environments.
    pub(super) fn is_equal(&self, other: &Self) -> bool {
        self.is_same_probe(other) && (self.outcome, &self.why) == (other.outcome, &other.why)
    }
}

/// Returns the end of the description of a cause that names the other meshes which inject the pod.
fn other_claims(pod: &WorkloadPrediction<'_>) -> String {
    let others = || pod.claims.iter().skip(1);
    let titles: Vec<&str> = others().map(|claim| claim.mesh.title()).collect();
    let is_certain = others().all(|claim| claim.is_certain);
    match (titles.as_slice(), pod.mesh.value) {
        ([], _) | (_, None) => String::new(),
        (titles, Some(mesh)) => format!(
            " (judged for {}; {}also injected by {})",
            mesh.title(),
            if is_certain { "" } else { "possibly " },
            sentence_list(titles)
        ),
    }
}

pub(in crate::report) fn handler_row(
    pod: &WorkloadPrediction<'_>,
    prediction: &HandlerPrediction<'_>,
) -> Row {
    Row {
        workload: pod.full_name(),
        container: prediction.container.name().to_owned(),
        slot: prediction.handler.slot.key().to_owned(),
        probe: handler_text(&prediction.handler),
        rewritten_to: prediction
            .rewritten_to
            .as_ref()
            .map(|to| rewritten_text(to, prediction.rewritten_host()))
            .unwrap_or_default(),
        outcome: prediction.verdict.outcome.as_str(),
        why: format!(
            "{}{}",
            prediction.verdict.cause.describe(),
            other_claims(pod)
        ),
        environments: Vec::new(),
    }
}

pub(in crate::report) fn machine_row(machine: &MachinePrediction<'_>) -> Row {
    let namespace = machine
        .namespace
        .as_ref()
        .map(|namespace| format!("{namespace}/"));
    let (namespace, name) = (namespace.unwrap_or_default(), machine.group.name());
    Row {
        workload: format!("{namespace}WorkloadGroup/{name}"),
        slot: "probe".to_owned(),
        probe: machine.written.clone(),
        outcome: machine.outcome.as_str(),
        why: machine.why.to_owned(),
        ..Row::default()
    }
}
