//! The stable JSON format of `predict --output-format json`, version 1.

use serde::Serialize;

use crate::context::{Context, NotJudged};
use crate::finding::{Certainty, ObjectRef};
use crate::kube::Object;
use crate::mesh::istio::mtls::MtlsMode;
use crate::mesh::{Fact, Mesh, Reason};
use crate::source::SourceSet;
use crate::yaml::Span;

use crate::predict::{HandlerPrediction, MachinePrediction, WorkloadPrediction, assumptions};
use crate::report::not_judged_entry::{NotJudgedEntry, not_judged_entries};
use crate::report::object_entry::ObjectEntry;

/// The JSON output of `predict`: one entry per workload, in the order of the tree.
#[derive(Debug, Serialize)]
pub struct Report {
    version: u32,
    workloads: Vec<WorkloadReport>,
    /// Virtual machines; omitted if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    machines: Vec<MachineReport>,
    not_judged: Vec<NotJudgedEntry>,
}

#[derive(Debug, Serialize)]
struct MachineReport {
    path: String,
    document: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    rendered: Option<RenderedReport>,
    object: ObjectEntry,
    overlay: Option<String>,
    kind: &'static str,
    field: &'static str,
    line: Option<usize>,
    outcome: &'static str,
    why: &'static str,
    certainty: &'static str,
    assumptions: Vec<String>,
    because: Vec<ReasonReport>,
}

#[derive(Debug, Serialize)]
struct WorkloadReport {
    path: String,
    document: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    rendered: Option<RenderedReport>,
    object: ObjectEntry,
    overlay: Option<String>,
    mesh: FactReport<Option<&'static str>>,
    dataplane: FactReport<&'static str>,
    handlers: Vec<HandlerReport>,
}

#[derive(Debug, Serialize)]
struct FactReport<T> {
    value: T,
    certainty: &'static str,
    because: Vec<ReasonReport>,
}

/// The rendered line that was predicted, if a tool generated it.
#[derive(Debug, Serialize)]
struct RenderedReport {
    path: String,
    line: usize,
}

#[derive(Debug, Serialize)]
struct ReasonReport {
    path: Option<String>,
    line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rendered: Option<RenderedReport>,
    message: String,
}

#[derive(Debug, Serialize)]
struct HandlerReport {
    container: String,
    list: &'static str,
    slot: &'static str,
    kind: &'static str,
    field: String,
    /// The file of the line if it is not that of the workload, because a patch added it.
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rendered: Option<RenderedReport>,
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
#[serde(rename_all = "camelCase")]
struct AgentTarget {
    path: String,
    port: i64,
    #[serde(skip_serializing_if = "is_plain")]
    scheme: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    http_headers: Vec<HeaderReport>,
}

#[derive(Debug, Serialize)]
struct HeaderReport {
    name: String,
    value: String,
}

fn is_plain(scheme: &str) -> bool {
    scheme == "HTTP"
}

/// The version of the JSON output.
const VERSION: u32 = 1;

impl Report {
    /// Builds the report of a run that predicted nothing.
    #[must_use]
    pub const fn empty() -> Self {
        Self {
            version: VERSION,
            workloads: Vec::new(),
            machines: Vec::new(),
            not_judged: Vec::new(),
        }
    }

    /// Builds the report of the workloads that are targets, of the machines, and of what is not judged.
    #[must_use]
    pub fn new(
        context: &Context<'_>,
        predictions: &[WorkloadPrediction<'_>],
        machines: &[MachinePrediction<'_>],
        not_judged: &[NotJudged],
    ) -> Self {
        let places = |path: &str, span: Span| report_location(context.sources, path, span);
        let targets = predictions.iter().filter(|prediction| prediction.is_target);
        Self {
            version: VERSION,
            workloads: targets.map(|p| workload(p, &places)).collect(),
            machines: machines
                .iter()
                .map(|prediction| machine(prediction, &places))
                .collect(),
            not_judged: not_judged_entries(context.sources, not_judged),
        }
    }
}

/// The place that a report shows: in the file that the user edits.
struct ReportLocation {
    path: String,
    line: Option<usize>,
    rendered: Option<RenderedReport>,
}

fn report_location(sources: &SourceSet, path: &str, span: Span) -> ReportLocation {
    let line = sources.file(path).map(|file| file.line_of(span));
    match sources.source_of(path, span) {
        Some(source) => ReportLocation {
            path: source.path.to_string(),
            line: source.place.map(|(start, _)| start.line),
            rendered: line.map(|line| RenderedReport {
                path: path.to_owned(),
                line,
            }),
        },
        None => ReportLocation {
            path: path.to_owned(),
            line,
            rendered: None,
        },
    }
}

type Places<'a> = &'a dyn Fn(&str, Span) -> ReportLocation;

fn workload(prediction: &WorkloadPrediction<'_>, places: Places<'_>) -> WorkloadReport {
    let object = &prediction.workload.object;
    let location = places(object.path(), object.name_span());
    WorkloadReport {
        path: location.path,
        document: object.document.index,
        rendered: location.rendered,
        object: ObjectRef {
            namespace: prediction.namespace.clone(),
            ..object.reference()
        }
        .into(),
        overlay: object.overlay.as_ref().map(ToString::to_string),
        mesh: fact(&prediction.mesh, |mesh| mesh.map(Mesh::as_str), places),
        dataplane: fact(
            &prediction.dataplane,
            |dataplane| dataplane.as_str(),
            places,
        ),
        handlers: prediction
            .handlers
            .iter()
            .map(|prediction| handler(object, prediction, places))
            .collect(),
    }
}

fn machine(prediction: &MachinePrediction<'_>, places: Places<'_>) -> MachineReport {
    let object = &prediction.group;
    let location = places(object.path(), prediction.probe.key.span());
    MachineReport {
        path: location.path,
        document: object.document.index,
        rendered: location.rendered,
        object: ObjectRef {
            namespace: prediction.namespace.clone(),
            ..object.reference()
        }
        .into(),
        overlay: object.overlay.as_ref().map(ToString::to_string),
        kind: prediction.kind,
        field: "spec.probe",
        line: location.line,
        outcome: prediction.outcome.as_str(),
        why: prediction.why,
        certainty: prediction.certainty.as_str(),
        assumptions: assumptions(&prediction.because),
        because: prediction
            .because
            .iter()
            .map(|r| reason(r, places))
            .collect(),
    }
}

fn handler(
    object: &Object<'_>,
    prediction: &HandlerPrediction<'_>,
    places: Places<'_>,
) -> HandlerReport {
    let verdict = &prediction.verdict;
    let handler = &prediction.handler;
    let at = object.label_at(handler.key.span(), "");
    let location = places(&at.path, at.span);
    HandlerReport {
        container: prediction.container.name().to_owned(),
        list: prediction.container.list.key(),
        slot: handler.slot.key(),
        kind: handler
            .action
            .as_ref()
            .map_or("unreadable", |action| action.key()),
        field: handler.within.to_string(),
        path: (at.path != *object.path()).then_some(location.path),
        line: location.line,
        rendered: location.rendered,
        rewritten: prediction.rewritten,
        captured: prediction.captured.as_ref().map(|fact| fact.value),
        mtls: prediction.mtls.as_ref().map(mode_text),
        outcome: verdict.outcome.as_str(),
        certainty: verdict.certainty.as_str(),
        kubelet: verdict.kubelet.clone(),
        becomes: becomes(prediction),
        assumptions: verdict.assumptions(),
        because: verdict.because.iter().map(|r| reason(r, places)).collect(),
    }
}

/// Returns the handler after the rewrite, if it is rewritten.
fn becomes(prediction: &HandlerPrediction<'_>) -> Option<BecomesReport> {
    let rewritten_to = prediction.rewritten_to.as_ref()?;
    let headers = prediction.rewritten_headers().iter().cloned();
    let http_get = AgentTarget {
        path: rewritten_to.path.clone(),
        port: rewritten_to.port,
        scheme: rewritten_to.scheme,
        host: prediction.rewritten_host().map(str::to_owned),
        http_headers: headers
            .map(|(name, value)| HeaderReport { name, value })
            .collect(),
    };
    Some(BecomesReport { http_get })
}

/// Returns the name of a mode; `unknown` if another tool fills it in.
pub(in crate::report) fn mode_text(mode: &Fact<MtlsMode>) -> &'static str {
    match mode.certainty {
        Certainty::Unknown => "unknown",
        _ => mode.value.as_str(),
    }
}

fn fact<T: Copy, U>(
    fact: &Fact<T>,
    value: impl FnOnce(T) -> U,
    places: Places<'_>,
) -> FactReport<U> {
    FactReport {
        value: value(fact.value),
        certainty: fact.certainty.as_str(),
        because: fact.because.iter().map(|r| reason(r, places)).collect(),
    }
}

fn reason(reason: &Reason, places: Places<'_>) -> ReasonReport {
    let place = reason.place.as_ref();
    let location = place.map(|place| places(&place.path, place.span));
    let (path, line, rendered) = match location {
        Some(location) => (Some(location.path), location.line, location.rendered),
        None => (None, None, None),
    };
    ReasonReport {
        path,
        line,
        rendered,
        message: reason.message.clone(),
    }
}
