//! Rule `prerewritten-custom-port-recursion`, documented in `docs/rules/prerewritten-custom-port-recursion.md`.

use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::mesh::Fact;
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_predict::predict::{Cause, HandlerPrediction, WorkloadPrediction, predict_with};

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;
use crate::rules::support::prober_env;

declare_rule! {
    "prerewritten-custom-port-recursion", Error, fix: Sometimes, scope: Workloads
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.handlers()
        .filter(|(_, handler)| handler.verdict.cause == Cause::AgentCallsItself)
        .map(|(pod, handler)| report(cx, pod, handler))
        .collect()
}

fn report<'t>(
    cx: &RuleContext<'_, 't>,
    pod: &WorkloadPrediction<'t>,
    handler: &HandlerPrediction<'t>,
) -> Finding {
    let message = format!(
        "{} will fail: the injector does not recognize port {} as the port of the agent, and makes \
         the agent call itself in an endless loop",
        handler.title(),
        handler.port.unwrap_or_default(),
    );
    let span = handler.handler.field_span("port");
    let mut finding = RULE.finding_on_handler(pod, handler, span, message);
    let off = Fact::settled(false, "the rewrite is off");
    let opted_out = predict_with(cx.context, &pod.workload, off);
    let mut handlers = opted_out.handlers.iter();
    if handlers.any(|handler| handler.verdict.outcome.is_bad()) {
        finding.help = Some(format!(
            "restore the path and port of the application, or set `{}` to \"false\" and add an entry \
             for each probe to `{}`",
            keys::REWRITE_PROBERS,
            keys::PROBERS_ENV,
        ));
    } else {
        finding.fix = Some(prober_env::opt_out_fix(pod));
    }
    finding
}
