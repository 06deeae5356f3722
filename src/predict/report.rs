//! The stable JSON shape of `predict --output-format json`, version 1.

use serde::Serialize;

use crate::context::Context;
use crate::finding::ObjectRef;
use crate::mesh::{Fact, Reason};

use super::{HandlerPrediction, WorkloadPrediction};

/// What `predict` prints: one entry per workload, in the order of the tree.
#[derive(Debug, Serialize)]
pub struct Report {
    version: u32,
    workloads: Vec<WorkloadReport>,
}

#[derive(Debug, Serialize)]
struct WorkloadReport {
    path: String,
    document: usize,
    object: ObjectReport,
    overlay: Option<String>,
    dataplane: FactReport<&'static str>,
    handlers: Vec<HandlerReport>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ObjectReport {
    api_version: String,
    kind: String,
    namespace: Option<String>,
    name: String,
}

#[derive(Debug, Serialize)]
struct FactReport<T> {
    value: T,
    certainty: &'static str,
    because: Vec<ReasonReport>,
}

#[derive(Debug, Serialize)]
struct ReasonReport {
    path: Option<String>,
    line: Option<usize>,
    message: String,
}

#[derive(Debug, Serialize)]
struct HandlerReport {
    container: String,
    list: &'static str,
    slot: &'static str,
    kind: &'static str,
    field: String,
    line: usize,
    rewritten: bool,
    captured: Option<bool>,
    mtls: Option<&'static str>,
    outcome: &'static str,
    certainty: &'static str,
    kubelet: Option<String>,
    becomes: Option<BecomesReport>,
    assumptions: Vec<String>,
    because: Vec<ReasonReport>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct BecomesReport {
    http_get: AgentTarget,
}

#[derive(Debug, Serialize)]
struct AgentTarget {
    path: String,
    port: i64,
}

impl Report {
    /// Builds the report of the workloads that are to be reported on.
    #[must_use]
    pub fn new(context: &Context<'_>, predictions: &[WorkloadPrediction<'_>]) -> Self {
        let lines = |path: &str, offset: usize| {
            context
                .sources
                .file(path)
                .map(|file| file.position(offset).line)
        };
        let targets = predictions.iter().filter(|prediction| prediction.is_target);
        Self {
            version: 1,
            workloads: targets.map(|p| workload(p, &lines)).collect(),
        }
    }
}

type Lines<'a> = &'a dyn Fn(&str, usize) -> Option<usize>;

fn workload(prediction: &WorkloadPrediction<'_>, lines: Lines<'_>) -> WorkloadReport {
    let object = &prediction.workload.object;
    WorkloadReport {
        path: object.path().to_string(),
        document: object.document.index,
        object: ObjectReport {
            namespace: prediction.namespace.clone(),
            ..object.reference().into()
        },
        overlay: object.overlay.map(ToString::to_string),
        dataplane: fact(&prediction.dataplane, |dataplane| dataplane.as_str(), lines),
        handlers: prediction
            .handlers
            .iter()
            .map(|prediction| handler(object.path(), prediction, lines))
            .collect(),
    }
}

impl From<ObjectRef> for ObjectReport {
    fn from(object: ObjectRef) -> Self {
        let ObjectRef {
            api_version,
            kind,
            namespace,
            name,
        } = object;
        Self {
            api_version,
            kind,
            namespace,
            name,
        }
    }
}

fn handler(path: &str, prediction: &HandlerPrediction<'_>, lines: Lines<'_>) -> HandlerReport {
    let verdict = &prediction.verdict;
    let handler = &prediction.handler;
    HandlerReport {
        container: prediction.container.name().to_owned(),
        list: prediction.container.list.key(),
        slot: handler.slot.key(),
        kind: handler
            .action
            .as_ref()
            .map_or("unreadable", |action| action.key()),
        field: handler.within.to_string(),
        line: lines(path, handler.key.span().start).unwrap_or_default(),
        rewritten: prediction.rewritten,
        captured: prediction.captured.as_ref().map(|fact| fact.value),
        mtls: prediction.mtls.as_ref().map(|fact| fact.value.as_str()),
        outcome: verdict.outcome.as_str(),
        certainty: verdict.certainty.as_str(),
        kubelet: verdict.kubelet.clone(),
        becomes: prediction.becomes.as_ref().map(|becomes| BecomesReport {
            http_get: AgentTarget {
                path: becomes.path.clone(),
                port: becomes.port,
            },
        }),
        assumptions: verdict.assumptions(),
        because: verdict.because.iter().map(|r| reason(r, lines)).collect(),
    }
}

fn fact<T: Copy, U>(fact: &Fact<T>, value: impl FnOnce(T) -> U, lines: Lines<'_>) -> FactReport<U> {
    FactReport {
        value: value(fact.value),
        certainty: fact.certainty.as_str(),
        because: fact.because.iter().map(|r| reason(r, lines)).collect(),
    }
}

fn reason(reason: &Reason, lines: Lines<'_>) -> ReasonReport {
    let place = reason.place.as_ref();
    ReasonReport {
        path: place.map(|place| place.path.to_string()),
        line: place.and_then(|place| lines(&place.path, place.span.start)),
        message: reason.message.clone(),
    }
}
