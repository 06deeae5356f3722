//! The lines of the table that `predict` prints.

use hashbrown::HashMap;

use crate::kube::{Action, Handler, Object};

use super::{HandlerPrediction, MachinePrediction, Outcome, WorkloadPrediction};

/// One line of the table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// `shop/Deployment/web`, with its namespace where one is written.
    pub workload: String,
    /// The container.
    pub container: String,
    /// `readinessProbe`.
    pub slot: String,
    /// What is written: `http :8080/healthz`.
    pub probe: String,
    /// What the mesh makes of it; empty where it stays.
    pub becomes: String,
    /// The outcome.
    pub outcome: &'static str,
    /// The cause in a few words; the facts behind it are in the JSON report.
    pub why: String,
}

/// Returns the lines of the table, one per handler and one per check of virtual machines, in the order of
/// the files; none for workloads that only state facts.
#[must_use]
pub fn table(
    predictions: &[WorkloadPrediction<'_>],
    machines: &[MachinePrediction<'_>],
) -> Vec<Row> {
    let of_machines = machines.iter().map(MachinePrediction::row);
    merged(predictions, rows(predictions), machines, of_machines)
}

/// Brings what is said of handlers and of machines in the order of the files.
pub(super) fn merged<T>(
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
    let shown = predictions.iter().flat_map(WorkloadPrediction::shown);
    let places = shown.map(|(one, _)| place(&one.workload.object));
    let mut all: Vec<_> = places.zip(of_handlers).collect();
    let places = machines.iter().map(|one| place(&one.group));
    all.extend(places.zip(of_machines));
    all.sort_by(|(a, _), (b, _)| a.cmp(b));
    all.into_iter().map(|(_, one)| one).collect()
}

/// Returns the lines of the table, one per handler; none for workloads that only state facts.
/// Where several workloads of one name would look the same, each names its overlay.
#[must_use]
pub fn rows(predictions: &[WorkloadPrediction<'_>]) -> Vec<Row> {
    let shown = || predictions.iter().flat_map(WorkloadPrediction::shown);
    let mut rows: Vec<Row> = shown().map(|(one, handler)| one.row(handler)).collect();
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
    for (row, (one, _)) in rows.iter_mut().zip(shown()) {
        if let Some(overlay) = one.workload.object.overlay
            && count.get(&key(row)).is_some_and(|&count| count > 1)
        {
            row.workload = format!("{} ({overlay})", row.workload);
        }
    }
    rows
}

impl<'t> WorkloadPrediction<'t> {
    /// Returns the handlers to be shown, each with its workload.
    pub(super) fn shown(
        &self,
    ) -> impl Iterator<Item = (&WorkloadPrediction<'t>, &HandlerPrediction<'t>)> {
        let handlers = self.handlers.iter().filter(|_| self.is_target);
        handlers.map(move |handler| (self, handler))
    }

    /// Tells whether the facts sufficed for a verdict on every handler.
    #[must_use]
    pub fn is_judged(&self) -> bool {
        self.handlers
            .iter()
            .all(|handler| handler.verdict.outcome != Outcome::Unknown)
    }

    pub(super) fn row(&self, prediction: &HandlerPrediction<'_>) -> Row {
        let namespace = self
            .namespace
            .as_ref()
            .map(|namespace| format!("{namespace}/"));
        Row {
            workload: format!("{}{}", namespace.unwrap_or_default(), self.workload.title()),
            container: prediction.container.name().to_owned(),
            slot: prediction.handler.slot.key().to_owned(),
            probe: written(&prediction.handler),
            becomes: prediction
                .becomes
                .as_ref()
                .map(|becomes| {
                    let scheme = becomes.scheme.to_ascii_lowercase();
                    format!("{scheme} :{}{}", becomes.port, becomes.path)
                })
                .unwrap_or_default(),
            outcome: prediction.verdict.outcome.as_str(),
            why: prediction.verdict.cause.describe().to_owned(),
        }
    }
}

impl MachinePrediction<'_> {
    pub(super) fn row(&self) -> Row {
        let namespace = self.namespace.as_ref().map(|one| format!("{one}/"));
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

fn written(handler: &Handler<'_>) -> String {
    match &handler.action {
        Ok(Action::HttpGet(http)) => {
            let scheme = http.scheme.to_ascii_lowercase();
            let host = http.host.as_deref().unwrap_or_default();
            format!("{scheme} {host}:{}{}", http.port, http.path)
        }
        Ok(Action::TcpSocket { port, host }) => {
            format!("tcp {}:{port}", host.as_deref().unwrap_or_default())
        }
        Ok(Action::Grpc { port, service }) => format!("grpc :{port} {service}").trim_end().into(),
        Ok(action) => action.key().to_owned(),
        Err(_) => "unreadable".to_owned(),
    }
}
