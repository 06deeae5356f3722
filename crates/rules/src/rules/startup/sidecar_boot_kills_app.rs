//! Rule `sidecar-boot-kills-app`, documented in `docs/rules/sidecar-boot-kills-app.md`.

use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::kube::{ContainerList, Slot, integer};
use meshprobe_predict::predict::{Cause, HandlerPrediction, WorkloadPrediction};

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;
use crate::rules::support::hold_application;

declare_rule! {
    "sidecar-boot-kills-app", Note, fix: Sometimes, scope: Workloads
}

/// The boot time of the sidecar, in seconds, that a liveness probe has to tolerate. A sidecar that takes
/// longer is a fault of its own.
const BOOT_SECONDS: i64 = 10;

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.handlers()
        .filter_map(|(pod, handler)| report(cx, pod, handler))
        .collect()
}

fn report<'t>(
    cx: &RuleContext<'_, 't>,
    pod: &WorkloadPrediction<'t>,
    handler: &HandlerPrediction<'t>,
) -> Option<Finding> {
    let container = &handler.container;
    let is_liveness = handler.handler.slot == Slot::Liveness;
    let by_agent = handler.verdict.cause == Cause::Rewritten;
    if !is_liveness || !by_agent || container.list != ContainerList::Main {
        return None;
    }
    if container.has_handler(Slot::Startup) {
        return None;
    }
    let seconds = seconds_until_kill(handler);
    if seconds >= BOOT_SECONDS {
        return None;
    }
    let first = cx
        .context
        .istio(&pod.workload)
        .startup()
        .sidecar_starts_first();
    // A note that applies only to old nodes has no value if the versions of the nodes are not known.
    if first.value
        || cx
            .context
            .istio(&pod.workload)
            .startup()
            .nodes_decide_order()
    {
        return None;
    }
    let message = format!(
        "{} gives up after {seconds} s: it is refused until the sidecar is up, so a slow start of the \
         sidecar kills the application",
        handler.title(),
    );
    let span = handler.handler.key.span();
    let mut finding = RULE.finding_on_handler(pod, handler, span, message);
    finding.outcome = None;
    finding.depend_on(&first);
    finding.help = Some("add a `startupProbe`, or wait for the sidecar".to_owned());
    hold_application::add_fix(cx, pod, &mut finding);
    Some(finding)
}

/// Returns how many seconds the kubelet waits before it kills the container. Missing fields have the defaults
/// of the API server.
fn seconds_until_kill(handler: &HandlerPrediction<'_>) -> i64 {
    let number = |key: &str, default: i64| {
        let written = handler.handler.node.get(key).and_then(integer);
        written.filter(|&number| number > 0).unwrap_or(default)
    };
    let tries = number("periodSeconds", 10).saturating_mul(number("failureThreshold", 3));
    number("initialDelaySeconds", 0).saturating_add(tries)
}
