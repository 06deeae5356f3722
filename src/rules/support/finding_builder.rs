//! Builds findings and fixes.

use std::sync::Arc;

use crate::context::placement;
use crate::finding::{Applicability, Certainty, Finding, Fix, Label, ProbeRef};
use crate::kube::{Object, Workload};
use crate::mesh::{Fact, Reason};
use crate::predict::{Cause, HandlerPrediction, Outcome, WorkloadPrediction};
use crate::rules::Rule;
use crate::yaml::{Change, Span};

impl Rule {
    /// Creates a finding about a workload.
    pub(in crate::rules) fn finding_on_workload(
        &self,
        workload: &Workload<'_>,
        span: Span,
        message: String,
    ) -> Finding {
        let mut finding = self.finding_on_object(&workload.object, span, message);
        if let Some(assumption) = placement(workload) {
            finding.depend_on(&assumption);
        }
        finding
    }

    /// Creates a finding about an object, such as a policy, a Namespace or a Service.
    pub(in crate::rules) fn finding_on_object(
        &self,
        object: &Object<'_>,
        span: Span,
        message: String,
    ) -> Finding {
        let place = object.label_at(span, String::new());
        let mut finding = Finding::new(self.id, self.severity, place, message);
        finding.document = object.document.index;
        finding.object = Some(object.reference());
        finding
    }

    /// Creates a finding about an object that kustomizations or clusters may deploy, for a rule about the whole tree: the
    /// finding names them.
    pub(in crate::rules) fn finding_on_deployed(
        &self,
        object: &Object<'_>,
        span: Span,
        message: String,
    ) -> Finding {
        let mut finding = self.finding_on_object(object, span, message);
        finding.overlays.extend(object.overlay.clone());
        finding
    }

    /// Creates a finding about a handler. It depends on every fact of the verdict.
    pub(in crate::rules) fn finding_on_handler(
        &self,
        pod: &WorkloadPrediction<'_>,
        handler: &HandlerPrediction<'_>,
        span: Span,
        message: String,
    ) -> Finding {
        let mut finding = self.finding_on_workload(&pod.workload, span, message);
        let verdict = &handler.verdict;
        finding.container = Some(handler.container.name().to_owned());
        finding.field = Some(handler.handler.within.to_string());
        finding.kubelet.clone_from(&verdict.kubelet);
        finding.probe = Some(probe_ref(pod, handler));
        if verdict.outcome != Outcome::Unknown {
            finding.outcome = Some(verdict.outcome.as_str());
        }
        // The message contains the reason of an invalid handler.
        let because = match verdict.cause {
            Cause::Malformed | Cause::Placeholder => &[],
            _ => verdict.because.as_slice(),
        };
        finding.depend_on_reasons(verdict.certainty, because);
        finding
    }
}

/// Returns the reference to a handler in the files of the user.
pub(in crate::rules) fn probe_ref(
    pod: &WorkloadPrediction<'_>,
    handler: &HandlerPrediction<'_>,
) -> ProbeRef {
    let object = &pod.workload.object;
    let label = object.label_at(handler.handler.key.span(), String::new());
    ProbeRef {
        title: handler.title(),
        path: label.path,
        span: label.span,
    }
}

impl Finding {
    /// Makes the finding depend on a fact: adds its places as related labels and its assumptions. An assumption
    /// lowers the severity by one step.
    pub(in crate::rules) fn depend_on<T>(&mut self, fact: &Fact<T>) {
        self.depend_on_reasons(fact.certainty, &fact.because);
    }

    fn depend_on_reasons(&mut self, certainty: Certainty, because: &[Reason]) {
        let was_certain = self.certainty > Certainty::Assumed;
        self.certainty = self.certainty.min(certainty);
        if was_certain && self.certainty <= Certainty::Assumed {
            self.severity = self.severity.lowered();
        }
        for reason in because {
            match (&reason.place, reason.settle) {
                (Some(place), _) => self.add_related(place),
                (None, Some(settle)) => self.assume(&reason.message, settle),
                (None, None) if reason.is_assumed_by_user => {
                    self.add_assumption(reason.message.clone());
                }
                (None, None) => {}
            }
        }
    }

    fn add_assumption(&mut self, assumption: String) {
        if !self.assumptions.contains(&assumption) {
            self.assumptions.push(assumption);
        }
    }

    /// Adds an assumption with the option that settles it, once per option.
    pub(in crate::rules) fn assume(&mut self, assumption: &str, settle: &str) {
        let option = format!("[{settle}]");
        if !self
            .assumptions
            .iter()
            .any(|known| known.ends_with(&option))
        {
            self.assumptions.push(format!("{assumption} {option}"));
        }
    }

    /// Adds the places and assumptions of a fact without lowering the severity: for facts that hold by
    /// convention, such as the name of the root namespace.
    pub(in crate::rules) fn cite<T>(&mut self, fact: &Fact<T>) {
        let (severity, certainty) = (self.severity, self.certainty);
        self.depend_on(fact);
        self.severity = severity;
        self.certainty = certainty;
    }

    fn add_related(&mut self, place: &Label) {
        if !self.related.contains(place) && *place != self.primary {
            self.related.push(place.clone());
        }
    }
}

impl Fix {
    /// Creates a fix of the document that contains an object. The engine turns the changes into byte edits.
    pub(in crate::rules) fn of_object(
        object: &Object<'_>,
        title: impl Into<String>,
        applicability: Applicability,
        changes: Vec<Change>,
    ) -> Self {
        Self {
            title: title.into(),
            applicability,
            path: Arc::clone(object.path()),
            document: object.document.index,
            changes,
            added_document: None,
            edits: Vec::new(),
        }
    }
}
