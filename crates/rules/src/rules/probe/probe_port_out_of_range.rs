//! Rule `probe-port-out-of-range`, documented in `docs/rules/probe-port-out-of-range.md`.

use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::kube::RejectionKind;
use meshprobe_predict::predict::{HandlerPrediction, WorkloadPrediction};

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;

declare_rule! {
    "probe-port-out-of-range", Error, fix: None, scope: Workloads
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.handlers()
        .filter_map(|(pod, handler)| report(pod, handler))
        .collect()
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Option<Finding> {
    let refusal = handler
        .api_rejection()
        .filter(|refusal| refusal.kind == RejectionKind::PortRange)?;
    let message = format!(
        "the API server refuses {}: {}",
        handler.title(),
        refusal.reason
    );
    let span = handler.handler.field_span(refusal.field);
    let mut finding = RULE.finding_on_handler(pod, handler, span, message);
    finding.help = Some("set the port of the application".to_owned());
    Some(finding)
}
