//! The refusal of a guard.

use meshprobe_mesh::finding::{Finding, GuardId, Refusal, Severity};
use meshprobe_predict::predict::WorkloadPrediction;
use meshprobe_yaml::Span;

/// The refusal of a guard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::rewrite) struct GuardFailure {
    /// The public id.
    pub(in crate::rewrite) guard: GuardId,
    /// The position that causes the refusal.
    pub(in crate::rewrite) span: Span,
    /// The reason, in one sentence.
    pub(in crate::rewrite) message: String,
    /// What to do about it.
    pub(in crate::rewrite) help: Option<String>,
}

impl GuardFailure {
    pub(in crate::rewrite) fn new(guard: GuardId, span: Span, message: impl Into<String>) -> Self {
        Self {
            guard,
            span,
            message: message.into(),
            help: None,
        }
    }

    pub(in crate::rewrite) fn with_help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Turns the refusal into a finding about the workload.
    pub(in crate::rewrite) fn finding(self, pod: &WorkloadPrediction<'_>) -> Finding {
        let object = &pod.workload.object;
        let label = object.label_at(self.span, String::new());
        let mut finding = Finding::new(self.guard, Severity::Error, label, String::new());
        finding.set_refusal(Refusal {
            start: format!("{} is not rewritten: ", pod.workload.title()),
            reason: self.message,
        });
        finding.document = object.document.index;
        finding.object = Some(object.reference());
        finding.help = self.help;
        finding
    }
}

pub(in crate::rewrite) fn name_span(pod: &WorkloadPrediction<'_>) -> Span {
    pod.workload.object.name_span()
}
