//! Rule `grpc-probe-needs-1-13`, documented in `docs/rules/grpc-probe-needs-1-13.md`.

use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::kube::{ContainerList, ProbeHandler};

use crate::rules::RuleContext;
use crate::rules::probe_rewriting::unsupported_by_release;
use crate::rules::rule::declare_rule;

declare_rule! {
    "grpc-probe-needs-1-13", Error, fix: None, scope: Workloads
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    unsupported_by_release::report(&RULE, cx, |handler| {
        let is_grpc = matches!(handler.handler.action, Ok(ProbeHandler::Grpc { .. }));
        (is_grpc && handler.container.list == ContainerList::Main).then_some("`grpc` probes")
    })
}
