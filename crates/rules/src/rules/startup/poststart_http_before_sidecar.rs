//! Rule `poststart-http-before-sidecar`, documented in `docs/rules/poststart-http-before-sidecar.md`.

use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::kube::{ContainerList, ProbeHandler, Slot};
use meshprobe_predict::context::Dataplane;
use meshprobe_predict::predict::{HandlerPrediction, Outcome, WorkloadPrediction};

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;
use crate::rules::support::hold_application;

declare_rule! {
    "poststart-http-before-sidecar", Warning, fix: Sometimes, scope: Workloads
}

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
    let is_hook = handler.handler.slot == Slot::PostStart;
    let in_mesh = pod.dataplane.value == Dataplane::Sidecar;
    if !is_hook || !in_mesh || handler.verdict.outcome != Outcome::Ok || !needs_sidecar(handler) {
        return None;
    }
    let first = if handler.container.list == ContainerList::Init {
        // `holdApplicationUntilProxyStarts` does not delay init containers.
        cx.context
            .istio(&pod.workload)
            .startup()
            .sidecar_is_native()
    } else {
        cx.context
            .istio(&pod.workload)
            .startup()
            .sidecar_starts_first()
    };
    if first.value {
        return None;
    }
    let message = format!(
        "{} runs before the sidecar is up: its first call is refused, and every new pod starts the \
         container twice",
        handler.title(),
    );
    let span = handler.handler.key.span();
    let mut finding = RULE.finding_on_handler(pod, handler, span, message);
    finding.outcome = None;
    finding.depend_on(&first);
    finding.help = Some("wait for the sidecar, or use an `exec` hook".to_owned());
    if handler.container.list == ContainerList::Main {
        hold_application::add_fix(cx, pod, &mut finding);
    }
    Some(finding)
}

/// Returns whether the agent or the sidecar receives the call.
fn needs_sidecar(handler: &HandlerPrediction<'_>) -> bool {
    let action = handler.handler.action.as_ref().ok();
    let captured = handler
        .captured
        .as_ref()
        .is_some_and(|captured| captured.value);
    let is_http = matches!(action, Some(ProbeHandler::HttpGet(http)) if http.host.is_none());
    handler.rewritten || handler.agent_path().is_some() || is_http && captured
}
