//! Predictions with their ways and all facts, as plain data, for reports that show each probe.

use std::sync::Arc;

use meshprobe_mesh::finding::{Certainty, Label};
use meshprobe_mesh::kube::Object;
use meshprobe_mesh::mesh::Reason;
use meshprobe_predict::context::Context;
use meshprobe_predict::predict::{
    EnvironmentNames, HandlerPrediction, MachinePrediction, Outcome, RouteFacts,
    WorkloadPrediction, alternatives, assumptions, machines,
};

use super::explanation::{Places, explain_handler, explain_machine, noted, otherwise};
use super::explanation_lines::{Line, Noted};
use super::row::{Row, handler_row, machine_row};
use super::shown::{Document, Shown};

/// The lines of an explanation that a view contains in fields of their own.
const OWN_FIELDS: [&str; 6] = [
    "probe",
    "becomes",
    "outcome",
    "kubelet",
    "assumed",
    "otherwise",
];

/// A reason for an outcome.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DecidingLine {
    /// What it states, with the option that settles it.
    pub message: String,
    /// The place, such as `apps/web.yaml:31`; `None` if no file states it.
    pub place: Option<String>,
    /// The line of the file.
    pub text: Option<String>,
    /// The certainty of the fact; empty if it is not known.
    pub certainty: &'static str,
    /// The name and the value of the fact, such as `mTLS` and `STRICT`, if it has one.
    pub fact: Option<(&'static str, String)>,
}

/// The prediction for one probe in one environment.
#[derive(Clone, Debug)]
pub struct ProbeView {
    /// The file of the workload, and the number of the document in it.
    pub document: Document,
    /// The place of the workload.
    pub workload_place: String,
    /// The name of the environment; `None` if the workload is deployed as it is written.
    pub environment: Option<Arc<str>>,
    /// The kustomization, or the deploying object, of the environment.
    pub overlay: Option<Arc<str>>,
    /// The namespace, if one is written.
    pub namespace: Option<String>,
    /// The workload, container, slot and outcome.
    pub row: Row,
    /// The key of the handler.
    pub key: Label,
    /// The place of the key.
    pub place: String,
    /// The outcome.
    pub outcome: Outcome,
    /// The certainty of the outcome.
    pub certainty: Certainty,
    /// The text that the kubelet prints, if it is known.
    pub kubelet: Option<String>,
    /// The assumptions, each with the option that settles it.
    pub assumptions: Vec<String>,
    /// What determines the way to the application.
    pub route: RouteFacts,
    /// The facts that decided, the most important first.
    pub deciding: Vec<DecidingLine>,
    /// The other facts, in the order in which they are consulted.
    pub facts: Vec<Line>,
    /// The outcomes under other assumptions.
    pub otherwise: Vec<String>,
    /// The release of the mesh and its certainty, if it matters.
    pub release: Option<(String, &'static str)>,
}

/// Returns the prediction of every probe in every environment, in the order of the predictions. Omits workloads that are only
/// context. `places` formats a place, and `text` returns its line.
#[must_use]
pub fn probe_views(
    context: &Context<'_>,
    predictions: &[WorkloadPrediction<'_>],
    places: Places<'_>,
    text: &dyn Fn(&Label) -> Option<String>,
) -> Vec<ProbeView> {
    let names = EnvironmentNames::of(predictions);
    let viewer = Viewer {
        names: &names,
        places,
        text,
    };
    let mut views = Vec::new();
    for pod in predictions.iter().filter(|pod| pod.is_target) {
        let alternatives = alternatives(context, pod);
        for handler in &pod.handlers {
            let mut view = viewer.handler(pod, handler);
            let other = otherwise(&alternatives, handler).map(|line| line.value);
            view.otherwise = other
                .into_iter()
                .chain(handler.by_other_release.clone())
                .collect();
            views.push(view);
        }
    }
    let machines = machines(context);
    views.extend(machines.iter().map(|machine| viewer.machine(machine)));
    views
}

struct Viewer<'a> {
    names: &'a EnvironmentNames,
    places: Places<'a>,
    text: &'a dyn Fn(&Label) -> Option<String>,
}

impl Viewer<'_> {
    fn handler(&self, pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> ProbeView {
        let object = &pod.workload.object;
        let verdict = &handler.verdict;
        let facts = facts(explain_handler(pod, self.places, handler).lines);
        let release = facts.iter().find(|line| line.name == "release");
        ProbeView {
            release: release.map(|line| (line.value.clone(), line.certainty)),
            row: handler_row(pod, handler),
            namespace: pod.namespace.clone(),
            outcome: verdict.outcome,
            certainty: verdict.certainty,
            kubelet: verdict.kubelet.clone(),
            assumptions: verdict.assumptions(),
            route: RouteFacts::of_handler(pod, handler),
            deciding: self.deciding(&verdict.because, &facts),
            facts: self.others(&verdict.because, facts),
            ..self.at(object, object.label_at(handler.handler.key.span(), ""))
        }
    }

    fn machine(&self, machine: &MachinePrediction<'_>) -> ProbeView {
        let object = &machine.group;
        let facts = facts(explain_machine(machine, self.places).lines);
        ProbeView {
            row: machine_row(machine),
            namespace: machine.namespace.clone(),
            outcome: machine.outcome,
            certainty: machine.certainty,
            kubelet: None,
            assumptions: assumptions(&machine.because),
            route: RouteFacts::of_machine(machine),
            deciding: self.deciding(&machine.because, &facts),
            facts: self.others(&machine.because, facts),
            ..self.at(object, object.label_at(machine.probe.key.span(), ""))
        }
    }

    /// Returns the view of a probe with only its places set.
    fn at(&self, object: &Object<'_>, key: Label) -> ProbeView {
        let shown = Shown::new(object, self.names, ());
        ProbeView {
            document: shown.document,
            workload_place: (self.places)(&object.label_at(object.name_span(), "")),
            environment: shown.environment,
            overlay: object.overlay.clone(),
            namespace: None,
            row: Row::default(),
            place: (self.places)(&key),
            key,
            outcome: Outcome::Unknown,
            certainty: Certainty::Unknown,
            kubelet: None,
            assumptions: Vec::new(),
            route: RouteFacts::UNKNOWN,
            deciding: Vec::new(),
            facts: Vec::new(),
            otherwise: Vec::new(),
            release: None,
        }
    }

    /// Returns the facts of which no reason decides.
    fn others(&self, because: &[Reason], facts: Vec<Line>) -> Vec<Line> {
        let deciding: Vec<Noted> = because
            .iter()
            .map(|reason| noted(self.places, reason))
            .collect();
        let decides = |line: &Line| line.because.iter().any(|shown| deciding.contains(shown));
        facts.into_iter().filter(|line| !decides(line)).collect()
    }

    /// Returns the deciding reasons. Each is as certain as the fact that contains it.
    fn deciding(&self, because: &[Reason], facts: &[Line]) -> Vec<DecidingLine> {
        let mut lines: Vec<DecidingLine> = Vec::new();
        for reason in because {
            let shown = noted(self.places, reason);
            let fact = facts.iter().find(|line| line.because.contains(&shown));
            let place = reason.place.as_ref();
            let line = DecidingLine {
                certainty: fact.map_or_else(|| own_certainty(reason), |line| line.certainty),
                fact: fact.map(|line| (line.name, line.value.clone())),
                place: place.map(self.places),
                text: place.and_then(self.text),
                message: shown.text,
            };
            if !lines.contains(&line) {
                lines.push(line);
            }
        }
        lines
    }
}

/// Returns the lines that are facts, and those that a mesh adds.
fn facts(lines: Vec<Line>) -> Vec<Line> {
    let is_fact = |line: &Line| !OWN_FIELDS.contains(&line.name);
    lines.into_iter().filter(is_fact).collect()
}

/// Returns the certainty of a reason on its own; empty if it depends on the fact.
pub(in crate::report) const fn own_certainty(reason: &Reason) -> &'static str {
    if reason.is_assumed_by_user {
        Certainty::Assumed.as_str()
    } else if reason.place.is_some() {
        Certainty::Known.as_str()
    } else {
        ""
    }
}
