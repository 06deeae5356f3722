//! Rule `tcp-probe-needs-1-12`, documented in `docs/rules/tcp-probe-needs-1-12.md`.

use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::kube::{ContainerList, ProbeHandler};

use crate::rules::RuleContext;
use crate::rules::probe_rewriting::unsupported_by_release;
use crate::rules::rule::declare_rule;

declare_rule! {
    "tcp-probe-needs-1-12", Error, fix: None, scope: Workloads
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    unsupported_by_release::report(&RULE, cx, |handler| {
        let is_tcp = matches!(handler.handler.action, Ok(ProbeHandler::TcpSocket { .. }));
        (is_tcp && handler.container.list == ContainerList::Main).then_some("`tcpSocket` probes")
    })
}
