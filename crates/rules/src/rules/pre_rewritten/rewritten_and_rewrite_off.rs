//! Rule `rewritten-and-rewrite-off`, documented in `docs/rules/rewritten-and-rewrite-off.md`.

use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_predict::predict::{Cause, HandlerPrediction, WorkloadPrediction};

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;
use crate::rules::support::prober_env;

declare_rule! {
    "rewritten-and-rewrite-off", Note, fix: Sometimes, scope: Workloads
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.pods().filter_map(report).collect()
}

fn report(pod: &WorkloadPrediction<'_>) -> Option<Finding> {
    pod.prober_env.as_ref()?;
    let is_marked = pod.workload.template.annotation(keys::STATUS).is_some();
    let rewritten: Vec<&HandlerPrediction<'_>> = pod
        .handlers
        .iter()
        .filter(|handler| handler.rewritten && handler.agent_path().is_some())
        .collect();
    let works = |handler: &&HandlerPrediction<'_>| handler.verdict.cause == Cause::Rewritten;
    if is_marked || rewritten.is_empty() || !rewritten.iter().all(works) {
        return None;
    }
    let message = format!(
        "the probes of {} work unchanged, but `{}` is replaced as soon as the injector finds another \
         handler to rewrite",
        pod.workload.title(),
        keys::PROBERS_ENV,
    );
    let mut finding = prober_env::finding_on_pod(&RULE, pod, message);
    finding.depend_on(&pod.rewrite);
    finding.depend_on(&pod.dataplane);
    let keeps_port = rewritten
        .iter()
        .all(|handler| handler.port == Some(pod.agent_port.value));
    if keeps_port {
        finding.fix = Some(prober_env::opt_out_fix(pod));
    } else {
        let port = pod.agent_port.value;
        finding.help = Some(format!(
            "set `port: {port}` in the probes, and set `{}` to \"false\"",
            keys::REWRITE_PROBERS
        ));
    }
    Some(finding)
}
