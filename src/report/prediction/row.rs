//! The rows of the table that `predict` prints.

use hashbrown::HashMap;

use crate::kube::Object;

use crate::predict::{
    HandlerPrediction, MachinePrediction, Outcome, WorkloadPrediction, handler_text, rewritten_text,
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
}

/// Returns the rows of the table, one per handler and one per check of virtual machines, in the order of
/// the files. Omits workloads that are only context.
#[must_use]
pub fn table(
    predictions: &[WorkloadPrediction<'_>],
    machines: &[MachinePrediction<'_>],
) -> Vec<Row> {
    let of_machines = machines.iter().map(MachinePrediction::row);
    merged(predictions, rows(predictions), machines, of_machines)
}

/// Merges the items for handlers and for machines in the order of the files.
pub(in crate::report) fn merged<T>(
    predictions: &[WorkloadPrediction<'_>],
    of_handlers: impl IntoIterator<Item = T>,
    machines: &[MachinePrediction<'_>],
    of_machines: impl IntoIterator<Item = T>,
) -> Vec<T> {
    let place = |object: &Object<'_>| {
        let rendered_by = object.rendered_by.map(ToString::to_string);
        (
            object.path().to_string(),
            object.document.index,
            rendered_by,
        )
    };
    let places = predictions
        .iter()
        .flat_map(WorkloadPrediction::shown)
        .map(|(pod, _)| place(&pod.workload.object));
    let mut all: Vec<_> = places.zip(of_handlers).collect();
    let places = machines.iter().map(|machine| place(&machine.group));
    all.extend(places.zip(of_machines));
    all.sort_by(|(a, _), (b, _)| a.cmp(b));
    all.into_iter().map(|(_, item)| item).collect()
}

/// Returns the rows of the table, one per handler, without workloads that are only context. If several
/// rows would look the same, each contains its overlay.
#[must_use]
pub fn rows(predictions: &[WorkloadPrediction<'_>]) -> Vec<Row> {
    let shown = || predictions.iter().flat_map(WorkloadPrediction::shown);
    let mut rows: Vec<Row> = shown().map(|(pod, handler)| pod.row(handler)).collect();
    let mut count: HashMap<(String, String, String), usize> = HashMap::new();
    let key = |row: &Row| {
        (
            row.workload.clone(),
            row.container.clone(),
            row.slot.clone(),
        )
    };
    for row in &rows {
        *count.entry(key(row)).or_default() += 1;
    }
    for (row, (pod, _)) in rows.iter_mut().zip(shown()) {
        if let Some(overlay) = pod.workload.object.overlay
            && count.get(&key(row)).is_some_and(|&count| count > 1)
        {
            row.workload = format!("{} ({overlay})", row.workload);
        }
    }
    rows
}

impl<'t> WorkloadPrediction<'t> {
    /// Iterates over the handlers that the table shows, each with its workload.
    pub(in crate::report) fn shown(
        &self,
    ) -> impl Iterator<Item = (&WorkloadPrediction<'t>, &HandlerPrediction<'t>)> {
        self.handlers
            .iter()
            .filter(|_| self.is_target)
            .map(move |handler| (self, handler))
    }

    /// Returns whether no handler has the outcome `unknown`.
    #[must_use]
    pub fn has_all_verdicts(&self) -> bool {
        self.handlers
            .iter()
            .all(|handler| handler.verdict.outcome != Outcome::Unknown)
    }

    pub(in crate::report) fn row(&self, prediction: &HandlerPrediction<'_>) -> Row {
        let namespace = self
            .namespace
            .as_ref()
            .map(|namespace| format!("{namespace}/"));
        Row {
            workload: format!("{}{}", namespace.unwrap_or_default(), self.workload.title()),
            container: prediction.container.name().to_owned(),
            slot: prediction.handler.slot.key().to_owned(),
            probe: handler_text(&prediction.handler),
            rewritten_to: prediction
                .rewritten_to
                .as_ref()
                .map(rewritten_text)
                .unwrap_or_default(),
            outcome: prediction.verdict.outcome.as_str(),
            why: prediction.verdict.cause.describe().to_owned(),
        }
    }
}

impl MachinePrediction<'_> {
    pub(in crate::report) fn row(&self) -> Row {
        let namespace = self
            .namespace
            .as_ref()
            .map(|namespace| format!("{namespace}/"));
        let (namespace, name) = (namespace.unwrap_or_default(), self.group.name());
        Row {
            workload: format!("{namespace}WorkloadGroup/{name}"),
            slot: "probe".to_owned(),
            probe: self.written.clone(),
            outcome: self.outcome.as_str(),
            why: self.why.to_owned(),
            ..Row::default()
        }
    }
}
