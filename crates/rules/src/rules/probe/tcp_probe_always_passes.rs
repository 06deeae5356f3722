//! Rule `tcp-probe-always-passes`, documented in `docs/rules/tcp-probe-always-passes.md`.

use meshprobe_mesh::finding::Finding;
use meshprobe_predict::context::Dataplane;
use meshprobe_predict::predict::Cause;

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;
use crate::rules::support::rewrite_off;

declare_rule! {
    "tcp-probe-always-passes", Error, fix: Sometimes, scope: Workloads
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    rewrite_off::report(
        &RULE,
        cx,
        |pod, handler| {
            // Other meshes have no such switch; separate rules report their probes.
            let has_switch = pod.dataplane.value != Dataplane::Other;
            // The API server rejects a port that is a quoted number, so such a probe never runs.
            has_switch && handler.port.is_some() && handler.verdict.cause == Cause::SidecarAccepts
        },
        |_, handler| {
            format!(
                "{} always succeeds: the sidecar accepts connections to port {} even if the \
                 application is down",
                handler.title(),
                handler.port.unwrap_or_default(),
            )
        },
    )
}
