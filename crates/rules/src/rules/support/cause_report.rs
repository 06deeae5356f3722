//! Rules that are declared: for one or more causes of a verdict, what a finding points at and what it says.

use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::mesh::Mesh;
use meshprobe_predict::predict::{Cause, HandlerPrediction, WorkloadPrediction};

use crate::rules::{Rule, RuleContext};

/// What a rule reports about the handlers whose verdict has a given cause, in a mesh other than Istio.
pub(in crate::rules) struct CauseReport {
    /// The mesh of the pod.
    pub(in crate::rules) mesh: Mesh,
    /// The cause of the verdict.
    pub(in crate::rules) cause: Cause,
    /// The field that the finding points at, such as `host`; `None` for the key of the handler, such as `httpGet`.
    pub(in crate::rules) field: Option<&'static str>,
    /// Returns the message.
    pub(in crate::rules) message: fn(&HandlerPrediction<'_>) -> String,
    /// The advice after `help:`.
    pub(in crate::rules) help: &'static str,
}

impl CauseReport {
    fn applies_to(&self, pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> bool {
        pod.mesh.value == Some(self.mesh) && handler.verdict.cause == self.cause
    }

    fn finding(
        &self,
        rule: &Rule,
        pod: &WorkloadPrediction<'_>,
        handler: &HandlerPrediction<'_>,
    ) -> Finding {
        let span = match self.field {
            Some(field) => handler.handler.field_span(field),
            None => handler.handler.kind_span(),
        };
        let message = (self.message)(handler);
        let mut finding = rule.finding_on_handler(pod, handler, span, message);
        finding.help = Some(self.help.to_owned());
        finding
    }
}

/// Returns a finding for each handler to which one of the reports applies.
pub(in crate::rules) fn check(
    cx: &RuleContext<'_, '_>,
    rule: &Rule,
    reports: &[CauseReport],
) -> Vec<Finding> {
    cx.handlers()
        .filter_map(|(pod, handler)| {
            let mut reports = reports.iter();
            let report = reports.find(|report| report.applies_to(pod, handler))?;
            Some(report.finding(rule, pod, handler))
        })
        .collect()
}

/// Declares a rule that consists of a list of [`CauseReport`]s: its id, its severity and the list.
macro_rules! declare_cause_rule {
    ($id:literal, $severity:ident, $reports:ident) => {
        $crate::rules::rule::declare_rule! { $id, $severity, fix: None, scope: Workloads }

        fn check(cx: &$crate::rules::RuleContext<'_, '_>) -> Vec<meshprobe_mesh::finding::Finding> {
            $crate::rules::support::cause_report::check(cx, &RULE, $reports)
        }
    };
}
pub(in crate::rules) use declare_cause_rule;
