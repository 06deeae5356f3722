//! The stable JSON format of `predict --output-format json`, version 1.

use std::sync::Arc;

use meshprobe_mesh::finding::{Certainty, Label, ObjectRef};
use meshprobe_mesh::kube::Object;
use meshprobe_mesh::mesh::istio::mtls::MtlsMode;
use meshprobe_mesh::mesh::{Fact, Mesh, Reason};
use meshprobe_predict::context::{Context, NotJudged};
use meshprobe_predict::predict::{
    HandlerPrediction, MachinePrediction, WorkloadPrediction, assumptions,
};
use meshprobe_tree::source::SourceSet;
use meshprobe_yaml::Span;
use serde::Serialize;

use crate::report::json::{NotJudgedEntry, ReasonEntry, RenderedEntry, not_judged_entries};
use crate::report::report_root::source_location;

/// The report of `predict`: one entry per workload, in the order of the tree.
#[derive(Debug, Default, Serialize)]
pub struct PredictReport {
    version: Version,
    /// The workloads.
    pub workloads: Vec<WorkloadReport>,
    /// Virtual machines; omitted if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub machines: Vec<MachineReport>,
    /// What is not judged.
    pub not_judged: Vec<NotJudgedEntry>,
}

/// The version of the format.
#[derive(Debug, Serialize)]
struct Version(u32);

impl Default for Version {
    fn default() -> Self {
        Self(1)
    }
}

/// The check of a virtual machine.
#[derive(Debug, Serialize)]
pub struct MachineReport {
    pub path: String,
    document: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    rendered: Option<RenderedEntry>,
    pub object: ObjectRef,
    pub overlay: Option<String>,
    pub kind: &'static str,
    field: &'static str,
    pub line: Option<usize>,
    pub outcome: &'static str,
    why: &'static str,
    pub certainty: &'static str,
    pub assumptions: Vec<String>,
    pub because: Vec<ReasonEntry>,
}

/// A workload with its probes and hooks.
#[derive(Debug, Serialize)]
pub struct WorkloadReport {
    pub path: String,
    document: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    rendered: Option<RenderedEntry>,
    pub object: ObjectRef,
    pub overlay: Option<String>,
    pub mesh: FactReport<Option<&'static str>>,
    pub dataplane: FactReport<&'static str>,
    pub handlers: Vec<HandlerReport>,
}

/// A fact with its provenance.
#[derive(Debug, Serialize)]
pub struct FactReport<T> {
    /// The value.
    pub value: T,
    certainty: &'static str,
    because: Vec<ReasonEntry>,
}

/// A probe or hook.
#[derive(Debug, Serialize)]
pub struct HandlerReport {
    pub container: String,
    list: &'static str,
    pub slot: &'static str,
    pub kind: &'static str,
    field: String,
    /// The file of the line if it is not that of the workload, because a patch added it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    pub line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rendered: Option<RenderedEntry>,
    pub rewritten: bool,
    captured: Option<bool>,
    pub mtls: Option<&'static str>,
    pub outcome: &'static str,
    pub certainty: &'static str,
    pub kubelet: Option<String>,
    becomes: Option<BecomesReport>,
    pub assumptions: Vec<String>,
    pub because: Vec<ReasonEntry>,
}

impl HandlerReport {
    /// Returns the request of the kubelet after the rewrite, such as `HTTP GET :15020/app-health/web/readyz`.
    #[must_use]
    pub fn rewritten_request(&self) -> Option<String> {
        let target = &self.becomes.as_ref()?.http_get;
        Some(format!(
            "{} GET :{}{}",
            target.scheme, target.port, target.path
        ))
    }
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

impl PredictReport {
    /// Builds the report of the workloads that are targets, of the machines, and of what is not judged.
    #[must_use]
    pub fn new(
        context: &Context<'_>,
        predictions: &[WorkloadPrediction<'_>],
        machines: &[MachinePrediction<'_>],
        not_judged: &[NotJudged],
    ) -> Self {
        let set = context.sources;
        let targets = predictions.iter().filter(|prediction| prediction.is_target);
        Self {
            workloads: targets.map(|pod| workload(set, pod)).collect(),
            machines: machines.iter().map(|found| machine(set, found)).collect(),
            not_judged: not_judged_entries(set, not_judged),
            ..Self::default()
        }
    }
}

fn workload(set: &SourceSet, prediction: &WorkloadPrediction<'_>) -> WorkloadReport {
    let object = &prediction.workload.object;
    let location = source_location(set, &own_label(object, object.name_span()));
    let handlers = prediction.handlers.iter();
    WorkloadReport {
        path: location.path.to_string(),
        document: object.document.index,
        rendered: RenderedEntry::of(&location),
        object: reference(object, prediction.namespace.as_ref()),
        overlay: object.overlay.as_ref().map(ToString::to_string),
        mesh: fact(set, &prediction.mesh, |mesh| mesh.map(Mesh::as_str)),
        dataplane: fact(set, &prediction.dataplane, |dataplane| dataplane.as_str()),
        handlers: handlers
            .map(|prediction| handler(set, object, prediction))
            .collect(),
    }
}

fn machine(set: &SourceSet, prediction: &MachinePrediction<'_>) -> MachineReport {
    let object = &prediction.group;
    let location = source_location(set, &own_label(object, prediction.probe.key.span()));
    MachineReport {
        path: location.path.to_string(),
        document: object.document.index,
        rendered: RenderedEntry::of(&location),
        object: reference(object, prediction.namespace.as_ref()),
        overlay: object.overlay.as_ref().map(ToString::to_string),
        kind: prediction.kind,
        field: "spec.probe",
        line: location.line(),
        outcome: prediction.outcome.as_str(),
        why: prediction.why,
        certainty: prediction.certainty.as_str(),
        assumptions: assumptions(&prediction.because),
        because: reasons(set, &prediction.because),
    }
}

fn handler(
    set: &SourceSet,
    object: &Object<'_>,
    prediction: &HandlerPrediction<'_>,
) -> HandlerReport {
    let verdict = &prediction.verdict;
    let handler = &prediction.handler;
    let at = object.label_at(handler.key.span(), "");
    let location = source_location(set, &at);
    HandlerReport {
        container: prediction.container.name().to_owned(),
        list: prediction.container.list.key(),
        slot: handler.slot.key(),
        kind: handler
            .action
            .as_ref()
            .map_or("unreadable", |action| action.key()),
        field: handler.within.to_string(),
        path: (at.path != *object.path()).then(|| location.path.to_string()),
        line: location.line(),
        rendered: RenderedEntry::of(&location),
        rewritten: prediction.rewritten,
        captured: prediction.captured.as_ref().map(|fact| fact.value),
        mtls: prediction.mtls.as_ref().map(mode_text),
        outcome: verdict.outcome.as_str(),
        certainty: verdict.certainty.as_str(),
        kubelet: verdict.kubelet.clone(),
        becomes: becomes(prediction),
        assumptions: verdict.assumptions(),
        because: reasons(set, &verdict.because),
    }
}

/// Returns a label in the file of an object.
fn own_label(object: &Object<'_>, span: Span) -> Label {
    Label {
        path: Arc::clone(object.path()),
        span,
        message: String::new(),
    }
}

fn reference(object: &Object<'_>, namespace: Option<&String>) -> ObjectRef {
    ObjectRef {
        namespace: namespace.cloned(),
        ..object.reference()
    }
}

fn reasons(set: &SourceSet, because: &[Reason]) -> Vec<ReasonEntry> {
    because
        .iter()
        .map(|reason| ReasonEntry::new(set, reason))
        .collect()
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

fn fact<T: Copy, U>(set: &SourceSet, fact: &Fact<T>, value: impl FnOnce(T) -> U) -> FactReport<U> {
    FactReport {
        value: value(fact.value),
        certainty: fact.certainty.as_str(),
        because: reasons(set, &fact.because),
    }
}
