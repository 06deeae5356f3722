//! Rule `host-header-dropped`, documented in `docs/rules/host-header-dropped.md`.

use meshprobe_mesh::finding::Finding;
use meshprobe_predict::predict::{Cause, HandlerPrediction, WorkloadPrediction};

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;

declare_rule! {
    "host-header-dropped", Warning, fix: None, scope: Workloads
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.handlers()
        .filter(|(_, handler)| handler.verdict.cause == Cause::HostHeaderDropped)
        .map(|(pod, handler)| report(pod, handler))
        .collect()
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Finding {
    let message = format!(
        "{} reaches the application without its header `Host`: the agent of Istio 1.18.1 and 1.18.2 drops it",
        handler.title(),
    );
    let span = handler.handler.field_span("httpHeaders");
    let mut finding = RULE.finding_on_handler(pod, handler, span, message);
    finding.help = Some("upgrade to Istio 1.18.3 or later".to_owned());
    finding
}
