//! Rule `lifecycle-hook-host-rewritten`, documented in `docs/rules/lifecycle-hook-host-rewritten.md`.

use meshprobe_mesh::finding::{Finding, Severity};
use meshprobe_mesh::kube::Slot;
use meshprobe_mesh::mesh::Version;
use meshprobe_predict::predict::{Cause, HandlerPrediction, WorkloadPrediction};

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;
use crate::rules::support::disable_rewrite;

declare_rule! {
    "lifecycle-hook-host-rewritten", Error, fix: Always, scope: Workloads
}

/// The first release that rewrites hooks.
const REWRITES_HOOKS: Version = Version::new(1, 25);

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.handlers()
        .filter(|(_, handler)| handler.handler.slot.is_lifecycle())
        .filter_map(|(pod, handler)| match handler.verdict.cause {
            Cause::HostKept => Some(report_broken(cx, pod, handler)),
            Cause::OtherHost => report_broken_by_upgrade(cx, pod, handler),
            _ => None,
        })
        .collect()
}

fn report_broken(
    cx: &RuleContext<'_, '_>,
    pod: &WorkloadPrediction<'_>,
    handler: &HandlerPrediction<'_>,
) -> Finding {
    let result = match handler.handler.slot {
        Slot::PostStart => "the kubelet then kills the container",
        _ => "the pod then stops without it",
    };
    let message = format!(
        "{} will fail, and {result}: the rewrite keeps `host`, so the kubelet sends the \
         request to `{}:{}`",
        handler.title(),
        host(handler),
        pod.status_port.value,
    );
    report(cx, pod, handler, message)
}

/// Reports a hook that works because the release does not rewrite hooks; later releases do.
fn report_broken_by_upgrade(
    cx: &RuleContext<'_, '_>,
    pod: &WorkloadPrediction<'_>,
    handler: &HandlerPrediction<'_>,
) -> Option<Finding> {
    let release = pod.release.value?;
    if !pod.rewrite.value || release >= REWRITES_HOOKS {
        return None;
    }
    let message = format!(
        "{} works only before Istio {REWRITES_HOOKS}, which rewrites it and sends the request to `{}:{}`",
        handler.title(),
        host(handler),
        pod.status_port.value,
    );
    let mut finding = report(cx, pod, handler, message);
    finding.severity = Severity::Note;
    finding.outcome = None;
    Some(finding)
}

fn host<'a>(handler: &'a HandlerPrediction<'_>) -> &'a str {
    let action = handler.handler.action.as_ref().ok();
    action.and_then(|action| action.host()).unwrap_or_default()
}

fn report(
    cx: &RuleContext<'_, '_>,
    pod: &WorkloadPrediction<'_>,
    handler: &HandlerPrediction<'_>,
    message: String,
) -> Finding {
    let span = handler.handler.field_span("host");
    let mut finding = RULE.finding_on_handler(pod, handler, span, message);
    finding.help = Some("alternatively, use an `exec` hook, which is not rewritten".to_owned());
    disable_rewrite::add_fix(cx, pod, &mut finding);
    finding
}
