//! What rules look at: the predictions, and ready-made findings about them.

use std::sync::Arc;

use hashbrown::HashMap;

use crate::context::{Context, Facts, Reach};
use crate::finding::{Applicability, Certainty, Finding, Fix, Label};
use crate::kube::{LabelSelector, Object, PeerAuthentication, Workload};
use crate::mesh::{Fact, Reason};
use crate::predict::{HandlerPrediction, Outcome, WorkloadPrediction};
use crate::settings::MeshKind;
use crate::yaml::{Change, Span};

use super::Rule;
use super::pod_labels::PodLabels;
use super::rewrite_cure::RewriteCures;

/// Everything a rule may ask.
#[derive(Clone, Copy, Debug)]
pub struct Scene<'s, 't> {
    /// The facts.
    pub context: &'s Context<'t>,
    /// The predictions, those of context files included.
    pub predictions: &'s [WorkloadPrediction<'t>],
    /// The same by namespace: policies ask for it all the time.
    pub by_namespace: &'s ByNamespace<'s, 't>,
    /// The predictions by the selectors of policies, where there are many.
    pub by_label: &'s PodLabels<'s, 't>,
    /// What enabling the rewrite does to each of the pods, predicted once per pod.
    pub(super) cures: &'s RewriteCures,
}

/// Predictions by the namespace they go to.
pub type ByNamespace<'s, 't> = HashMap<&'s str, Vec<&'s WorkloadPrediction<'t>>>;

/// Sorts predictions by namespace.
pub(super) fn by_namespace<'s, 't>(
    context: &'s Context<'t>,
    predictions: &'s [WorkloadPrediction<'t>],
) -> ByNamespace<'s, 't> {
    let mut sorted = ByNamespace::new();
    for one in predictions {
        let namespace = context.namespace_of(&one.workload.object).0;
        sorted.entry(namespace).or_default().push(one);
    }
    sorted
}

impl<'s, 't> Scene<'s, 't> {
    /// Iterates over the workloads to report on.
    pub fn pods(&self) -> impl Iterator<Item = &'s WorkloadPrediction<'t>> + use<'s, 't> {
        self.predictions
            .iter()
            .filter(|prediction| prediction.is_target)
    }

    /// Tells whether there may be a mesh at all: where an option says no, nobody is missing in it.
    #[must_use]
    pub fn may_have_mesh(&self) -> bool {
        self.context.settings.mesh != MeshKind::None
    }

    /// Tells whether an object is to be reported on: it stands in a file that is not only read for
    /// facts, or comes out of a kustomization that is not.
    #[must_use]
    pub fn is_target(&self, object: &Object<'_>) -> bool {
        self.context.is_target(object)
    }

    /// Iterates over the Namespaces to report on.
    pub fn namespaces(&self) -> impl Iterator<Item = &'s Object<'t>> + use<'_, 's, 't> {
        let namespaces = self.context.inventory.namespaces.iter();
        namespaces.filter(|namespace| self.is_target(namespace))
    }

    /// Returns the workloads that a `PeerAuthentication` with this reach is for, those of context
    /// files included.
    #[must_use]
    pub fn reached_by(&self, policy: &Object<'t>, reach: Reach) -> Vec<&'s WorkloadPrediction<'t>> {
        let reaches =
            |pod: &WorkloadPrediction<'t>| self.context.reaches(policy, reach, &pod.workload);
        match reach {
            Reach::Mesh => self.predictions.iter().filter(|pod| reaches(pod)).collect(),
            Reach::Namespace => self.beside(policy).filter(|pod| reaches(pod)).collect(),
            Reach::Workloads => {
                let namespace = self.context.namespace_of(policy).0;
                let selector = PeerAuthentication::of(policy).selector();
                match self.by_label.selected(namespace, selector) {
                    Some(pods) => pods.iter().copied().filter(|pod| reaches(pod)).collect(),
                    None => self.beside(policy).filter(|pod| reaches(pod)).collect(),
                }
            }
            Reach::Nobody => Vec::new(),
        }
    }

    /// Returns the workloads that hear an `AuthorizationPolicy`, an `EnvoyFilter` or a `Sidecar`,
    /// whatever labels it asks for: those of its namespace; of the root namespace, all.
    #[must_use]
    pub fn hearing(&self, policy: &Object<'t>) -> Vec<&'s WorkloadPrediction<'t>> {
        let reach = if self.context.is_in_root_namespace(policy) {
            Reach::Mesh
        } else {
            Reach::Namespace
        };
        self.reached_by(policy, reach)
    }

    /// Returns those of [`Scene::hearing`] that carry the labels of `selector`, and perhaps others.
    #[must_use]
    pub fn hearing_selected(
        &self,
        policy: &Object<'t>,
        selector: LabelSelector<'t>,
    ) -> Vec<&'s WorkloadPrediction<'t>> {
        let namespace = self.context.namespace_of(policy).0;
        let of_namespace = !self.context.is_in_root_namespace(policy);
        let selected = self.by_label.selected(namespace, selector);
        match selected.filter(|_| of_namespace) {
            Some(pods) => {
                let reaches = |pod: &&WorkloadPrediction<'t>| {
                    let reach = Reach::Namespace;
                    self.context.reaches(policy, reach, &pod.workload)
                };
                pods.iter().copied().filter(reaches).collect()
            }
            None => self.hearing(policy),
        }
    }

    /// Returns those of some facts that stand in a namespace of the workloads, in their order.
    #[must_use]
    pub fn among<'f>(&self, facts: &'f Facts<'t, Object<'t>>) -> Vec<&'f Object<'t>> {
        let mut namespaces = self.by_namespace.keys();
        match (namespaces.next(), namespaces.next()) {
            (Some(one), None) => facts.in_namespace(one).collect(),
            _ => facts
                .iter()
                .filter(|fact| self.beside(fact).next().is_some())
                .collect(),
        }
    }

    /// Iterates over the workloads in the namespace of an object.
    pub fn beside(
        &self,
        object: &Object<'t>,
    ) -> impl Iterator<Item = &'s WorkloadPrediction<'t>> + use<'s, 't> {
        let namespace = self.context.namespace_of(object).0;
        let found = self.by_namespace.get(namespace);
        found.into_iter().flatten().copied()
    }

    /// Returns the workloads that a port of a Service leads to, each with the port of its pods.
    #[must_use]
    pub fn pods_behind(
        &self,
        service: &Object<'t>,
        port: i64,
    ) -> Vec<(&'s WorkloadPrediction<'t>, i64)> {
        let mut found = Vec::new();
        for pod in self.beside(service) {
            for (one, line, target) in self.context.service_ports(&pod.workload) {
                let is_same = one.node == service.node && line.port == Some(port);
                found.extend(target.filter(|_| is_same).map(|target| (pod, target)));
            }
        }
        found
    }

    /// Iterates over the handlers to report on, with their workloads.
    pub fn handlers(
        &self,
    ) -> impl Iterator<Item = (&'s WorkloadPrediction<'t>, &'s HandlerPrediction<'t>)> + use<'s, 't>
    {
        self.pods()
            .flat_map(|pod| pod.handlers.iter().map(move |handler| (pod, handler)))
    }
}

/// Starts a finding about a workload.
pub(super) fn about_workload(
    rule: &Rule,
    workload: &Workload<'_>,
    span: Span,
    message: String,
) -> Finding {
    about_object(rule, &workload.object, span, message)
}

/// Starts a finding about an object: a policy, a Namespace, a Service.
pub(super) fn about_object(
    rule: &Rule,
    object: &Object<'_>,
    span: Span,
    message: String,
) -> Finding {
    let mut finding = Finding::new(
        rule.id,
        rule.severity,
        object.label_at(span, String::new()),
        message,
    );
    finding.document = object.document.index;
    finding.object = Some(object.reference());
    finding
}

/// Returns the number of the document that holds a place, within its file.
pub(super) fn document_of(scene: &Scene<'_, '_>, place: &Label) -> usize {
    let file = scene.context.sources.file(&place.path);
    let mut documents = file.into_iter().flat_map(|file| &file.documents);
    documents
        .find(|document| document.segment.contains(place.span))
        .map_or(0, |document| document.index)
}

/// Starts a finding about a handler whose verdict decides.
pub(super) fn about_handler(
    rule: &Rule,
    pod: &WorkloadPrediction<'_>,
    handler: &HandlerPrediction<'_>,
    span: Span,
    message: String,
) -> Finding {
    let mut finding = about_workload(rule, &pod.workload, span, message);
    let verdict = &handler.verdict;
    finding.container = Some(handler.container.name().to_owned());
    finding.field = Some(handler.handler.within.to_string());
    finding.kubelet.clone_from(&verdict.kubelet);
    if verdict.outcome != Outcome::Unknown {
        finding.outcome = Some(verdict.outcome.as_str());
    }
    rest_on(&mut finding, verdict.certainty, &verdict.because);
    finding
}

/// Lets a finding rest on a fact: its places become second labels, what is assumed is said, and
/// an assumption takes the severity one step down.
pub(super) fn rest_on_fact<T>(finding: &mut Finding, fact: &Fact<T>) {
    rest_on(finding, fact.certainty, &fact.because);
}

fn rest_on(finding: &mut Finding, certainty: Certainty, because: &[Reason]) {
    let was_sure = finding.certainty > Certainty::Assumed;
    finding.certainty = finding.certainty.min(certainty);
    if was_sure && finding.certainty <= Certainty::Assumed {
        finding.severity = finding.severity.lowered();
    }
    for reason in because {
        match (&reason.place, reason.settle) {
            (Some(place), _) => add_related(finding, place),
            (None, Some(settle)) => assume(finding, &reason.message, settle),
            (None, None) => {}
        }
    }
}

/// Says what was taken for granted, once per fact: what one option settles is one fact.
pub(super) fn assume(finding: &mut Finding, said: &str, settle: &str) {
    let option = format!("[{settle}]");
    if !finding.assumptions.iter().any(|one| one.ends_with(&option)) {
        finding.assumptions.push(format!("{said} {option}"));
    }
}

/// Says what a fact rests on without letting the severity depend on it: for what stands by
/// convention, such as the name of the root namespace.
pub(super) fn mention<T>(finding: &mut Finding, fact: &Fact<T>) {
    let (severity, certainty) = (finding.severity, finding.certainty);
    rest_on_fact(finding, fact);
    finding.severity = severity;
    finding.certainty = certainty;
}

fn add_related(finding: &mut Finding, place: &Label) {
    if !finding.related.contains(place) && *place != finding.primary {
        finding.related.push(place.clone());
    }
}

/// Returns a fix of the document that holds an object; the engine turns the changes into bytes.
pub(super) fn fix(
    object: &Object<'_>,
    title: impl Into<String>,
    applicability: Applicability,
    changes: Vec<Change>,
) -> Fix {
    Fix {
        title: title.into(),
        applicability,
        path: Arc::clone(object.path()),
        document: object.document.index,
        changes,
        adds: None,
        edits: Vec::new(),
    }
}
