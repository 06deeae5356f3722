//! Builds findings and fixes.

use meshprobe_mesh::finding::{Finding, ProbeRef, Sentence};
use meshprobe_mesh::kube::{Object, Workload};
use meshprobe_predict::context::placement;
use meshprobe_predict::predict::{Cause, HandlerPrediction, Outcome, WorkloadPrediction};
use meshprobe_yaml::Span;

use crate::rules::{Rule, RuleContext};

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
        Finding::on_object(object, span, (self.id, self.severity), message)
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

    /// Creates a finding about a handler, the subject of the sentence. It depends on every fact of the verdict.
    pub(in crate::rules) fn finding_on_handler(
        &self,
        pod: &WorkloadPrediction<'_>,
        handler: &HandlerPrediction<'_>,
        span: Span,
        sentence: impl Into<Sentence>,
    ) -> Finding {
        let mut finding = self.finding_on_workload(&pod.workload, span, String::new());
        finding.set_sentence(&handler.title(), sentence.into());
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
        slot: handler.handler.slot.key(),
        path: label.path,
        span: label.span,
    }
}

/// Returns one of several findings of which one is enough: the first place that is reported, if any is. The others are in
/// files that are only read for facts.
pub(in crate::rules) fn first_reported(
    cx: &RuleContext<'_, '_>,
    findings: impl Iterator<Item = Finding>,
) -> Option<Finding> {
    let mut all: Vec<Finding> = findings.collect();
    all.sort_by(|a, b| (&a.primary.path, a.primary.span).cmp(&(&b.primary.path, b.primary.span)));
    let reported = all.iter().position(|finding| cx.context.reports(finding));
    let first = reported.unwrap_or_default();
    (first < all.len()).then(|| all.swap_remove(first))
}
