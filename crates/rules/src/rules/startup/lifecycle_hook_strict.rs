//! Rule `lifecycle-hook-strict`, documented in `docs/rules/lifecycle-hook-strict.md`.

use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::kube::Slot;
use meshprobe_predict::predict::{Cause, HandlerPrediction, WorkloadPrediction};

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;
use crate::rules::support::enable_rewrite;

declare_rule! {
    "lifecycle-hook-strict", Error, fix: Sometimes, scope: Workloads
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.handlers()
        .filter(|(_, handler)| {
            let cause = handler.verdict.cause;
            matches!(cause, Cause::PlaintextAtStrict | Cause::HttpsAtStrict)
                && handler.handler.slot.is_lifecycle()
        })
        .map(|(pod, handler)| report(cx, pod, handler))
        .collect()
}

fn report(
    cx: &RuleContext<'_, '_>,
    pod: &WorkloadPrediction<'_>,
    handler: &HandlerPrediction<'_>,
) -> Finding {
    let result = match handler.handler.slot {
        Slot::PostStart => "the kubelet then kills the container",
        _ => "the pod then stops without it",
    };
    let reason = match pod.release.value {
        Some(release) if pod.rewrite.value => format!("Istio {release} does not rewrite hooks"),
        _ => "the hook is not rewritten".to_owned(),
    };
    let message = format!(
        "{} will fail, and {result}: port {} requires mutual TLS (STRICT), and {reason}",
        handler.title(),
        handler.port_for_message(),
    );
    let span = handler.handler.key.span();
    let mut finding = RULE.finding_on_handler(pod, handler, span, message);
    if enable_rewrite::restores_hook(cx, pod, handler) {
        enable_rewrite::add_fix(cx, pod, &mut finding);
    }
    let help = "use an `exec` hook that sends the request to 127.0.0.1";
    finding.help.get_or_insert_with(|| help.to_owned());
    finding
}
