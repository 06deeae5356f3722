//! Rule `exec-probe-through-sidecar`, documented in `docs/rules/exec-probe-through-sidecar.md`.

use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::kube::{ExecKind, exec_calls};
use meshprobe_predict::context::Dataplane;
use meshprobe_predict::predict::{HandlerPrediction, WorkloadPrediction};

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;

declare_rule! {
    "exec-probe-through-sidecar", Note, fix: None, scope: Workloads
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.handlers()
        .filter_map(|(pod, handler)| report(pod, handler))
        .collect()
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Option<Finding> {
    if pod.dataplane.value != Dataplane::Sidecar || handler.handler.slot.is_lifecycle() {
        return None;
    }
    let calls = exec_calls(&handler.handler);
    let call = calls.iter().find(|call| call.kind == ExecKind::Request)?;
    let message = format!(
        "{} sends its request to `{}` through the sidecar, so it depends on the mesh and not only on \
         the application",
        handler.title(),
        call.host,
    );
    let span = handler.handler.kind_span();
    let mut finding = RULE.finding_on_handler(pod, handler, span, message);
    finding.outcome = None;
    finding.depend_on(&pod.dataplane);
    finding.help = Some("use `httpGet`, or send the request to 127.0.0.1".to_owned());
    Some(finding)
}
