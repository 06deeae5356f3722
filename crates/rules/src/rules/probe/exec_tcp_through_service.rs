//! Rule `exec-tcp-through-service`, documented in `docs/rules/exec-tcp-through-service.md`.

use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::kube::exec_calls;
use meshprobe_predict::predict::{Cause, HandlerPrediction, WorkloadPrediction};

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;

declare_rule! {
    "exec-tcp-through-service", Error, fix: None, scope: Workloads
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.handlers()
        .filter(|(_, handler)| handler.verdict.cause == Cause::OutboundAccepted)
        .map(|(pod, handler)| report(pod, handler))
        .collect()
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Finding {
    let calls = exec_calls(&handler.handler);
    let call = calls.first();
    let message = format!(
        "{} always succeeds: the sidecar accepts its connection to `{}:{}` even if the application \
         is down",
        handler.title(),
        call.map_or("", |call| call.host.as_str()),
        call.and_then(|call| call.port).unwrap_or_default(),
    );
    let span = handler.handler.kind_span();
    let mut finding = RULE.finding_on_handler(pod, handler, span, message);
    finding.help = Some(
        "connect to 127.0.0.1, which bypasses the sidecar, or send a request and check the response"
            .to_owned(),
    );
    finding
}
