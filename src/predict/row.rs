//! The lines of the table that `predict` prints.

use crate::kube::{Action, Handler};

use super::{HandlerPrediction, Outcome, WorkloadPrediction};

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

impl WorkloadPrediction<'_> {
    /// Returns the lines of the table, one per handler; none for workloads that only state facts.
    #[must_use]
    pub fn rows(&self) -> Vec<Row> {
        let handlers = self.handlers.iter().filter(|_| self.is_target);
        handlers.map(|handler| self.row(handler)).collect()
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
                .map(|becomes| format!("http :{}{}", becomes.port, becomes.path))
                .unwrap_or_default(),
            outcome: prediction.verdict.outcome.as_str(),
            why: prediction.verdict.cause.describe().to_owned(),
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
