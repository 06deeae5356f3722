//! Rule `app-probe-on-status-port`, documented in `docs/rules/app-probe-on-status-port.md`.

use meshprobe_mesh::finding::Finding;
use meshprobe_predict::predict::{Cause, Outcome};

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;

declare_rule! {
    "app-probe-on-status-port", Error, fix: None, scope: Workloads
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.handlers()
        .filter(|(_, handler)| handler.verdict.cause == Cause::PortOfAgent)
        .map(|(pod, handler)| {
            let result = match handler.verdict.outcome {
                Outcome::AlwaysPasses => "always succeeds",
                _ => "will fail",
            };
            let message = format!(
                "{} {result}: port {} belongs to the agent in the sidecar, so the agent answers \
                 instead of the application",
                handler.title(),
                handler.port.unwrap_or_default(),
            );
            let span = handler.handler.field_span("port");
            let mut finding = RULE.finding_on_handler(pod, handler, span, message);
            finding.help =
                Some("set the port of the application; the sidecar has its own probe".to_owned());
            finding
        })
        .collect()
}
