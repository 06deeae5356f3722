//! Rule `tcp-probe-host-dropped`, documented in `docs/rules/tcp-probe-host-dropped.md`.

use meshprobe_mesh::finding::{Applicability, Finding, Fix};
use meshprobe_predict::predict::{Cause, HandlerPrediction, WorkloadPrediction};
use meshprobe_yaml::{Change, NodeRef};

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;
use crate::rules::support::{disable_rewrite, pod_metadata};

declare_rule! {
    "tcp-probe-host-dropped", Error, fix: Always, scope: Workloads
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.handlers()
        .filter(|(_, handler)| handler.verdict.cause == Cause::HostDropped)
        .map(|(pod, handler)| report(cx, pod, handler))
        .collect()
}

fn report(
    cx: &RuleContext<'_, '_>,
    pod: &WorkloadPrediction<'_>,
    handler: &HandlerPrediction<'_>,
) -> Finding {
    let action = handler.handler.action.as_ref().ok();
    let host = action.and_then(|action| action.host()).unwrap_or_default();
    let message = format!(
        "{} will not check `{host}`: the rewrite drops `host`, so the agent checks port {} of the pod",
        handler.title(),
        handler.port_for_message(),
    );
    let span = handler.handler.field_span("host");
    let mut finding = RULE.finding_on_handler(pod, handler, span, message);
    if is_loopback(host) {
        finding.severity = finding.severity.lowered();
        finding.help = Some("remove `host`, as the probe targets the pod itself".to_owned());
        remove_host(pod, handler, &mut finding);
    } else {
        finding.help = Some(
            "check the pod itself; if readiness depends on another host, all pods become unready at once"
                .to_owned(),
        );
        disable_rewrite::add_fix(cx, pod, &mut finding);
    }
    finding
}

fn is_loopback(host: &str) -> bool {
    host == "localhost" || host == "::1" || host.starts_with("127.")
}

fn remove_host(
    pod: &WorkloadPrediction<'_>,
    handler: &HandlerPrediction<'_>,
    finding: &mut Finding,
) {
    let socket: Option<NodeRef<'_>> = handler.handler.node.get("tcpSocket");
    let entry = socket.and_then(|socket| socket.entry("host"));
    let wanted = Applicability::unsafe_because(
        "outside of a mesh, the kubelet then checks the address of the pod instead of `host`",
    );
    let applicability = match entry {
        Some(entry) => pod_metadata::keeping_comment(entry, wanted),
        None => wanted,
    };
    let route = handler.handler.route.child("tcpSocket").child("host");
    finding.fix = Some(Fix::of_object(
        &pod.workload.object,
        "remove `host`",
        applicability,
        vec![Change::Remove { route }],
    ));
}
