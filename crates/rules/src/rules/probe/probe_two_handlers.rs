//! Rule `probe-two-handlers`, documented in `docs/rules/probe-two-handlers.md`.

use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::kube::RejectionKind;
use meshprobe_predict::predict::{HandlerPrediction, WorkloadPrediction};

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;

declare_rule! {
    "probe-two-handlers", Error, fix: None, scope: Workloads
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.handlers()
        .filter_map(|(pod, handler)| report(pod, handler))
        .collect()
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Option<Finding> {
    handler
        .api_rejection()
        .filter(|refusal| refusal.kind == RejectionKind::TwoHandlers)?;
    let kinds: Vec<_> = handler.handler.kinds().collect();
    let names: Vec<&str> = kinds.iter().filter_map(|key| key.text()).collect();
    let (first, rest) = kinds.split_first()?;
    let message = format!(
        "the API server refuses {}: it has {} handlers (`{}`)",
        handler.title(),
        names.len(),
        names.join("`, `"),
    );
    let span = rest.last()?.span();
    let mut finding = RULE.finding_on_handler(pod, handler, span, message);
    let object = &pod.workload.object;
    finding
        .related
        .push(object.label_at(first.span(), "first handler"));
    finding.help = Some(
        "keep one handler; in a patch that adds a handler, set the old one to null to remove it"
            .to_owned(),
    );
    Some(finding)
}
