//! Rule `probe-timeout-missing-in-env`, documented in `docs/rules/probe-timeout-missing-in-env.md`.

use meshprobe_mesh::finding::{Applicability, Finding, Fix};
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_predict::predict::{Cause, HandlerPrediction, WorkloadPrediction};

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;
use crate::rules::support::prober_env;

declare_rule! {
    "probe-timeout-missing-in-env", Error, fix: Sometimes, scope: Workloads
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.handlers()
        .filter(|(_, handler)| handler.verdict.cause == Cause::AgentTimeoutZero)
        .map(|(pod, handler)| report(pod, handler))
        .collect()
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Finding {
    let path = handler.agent_path().unwrap_or_default();
    let message = format!(
        "{} will fail: entry `{path}` of `{}` has no timeout, so the gRPC check of the agent times \
         out before it starts",
        handler.title(),
        keys::PROBERS_ENV,
    );
    let mut finding = prober_env::finding_on_handler(
        &RULE,
        pod,
        handler,
        message,
        "the probe that uses this entry",
    );
    finding.help =
        Some("add the default of Kubernetes to the entry: `\"timeoutSeconds\":1`".to_owned());
    finding.fix = set_timeout(pod, path);
    finding
}

fn set_timeout(pod: &WorkloadPrediction<'_>, path: &str) -> Option<Fix> {
    let value = pod.prober_env.as_ref()?.with_timeout(path, 1)?;
    let change = prober_env::set_value(pod, value)?;
    let title = "set the timeout of the entry to 1 second";
    let object = &pod.workload.object;
    let degree = Applicability::unsafe_because(
        "another timeout than the default of Kubernetes may be intended",
    );
    Some(Fix::of_object(object, title, degree, vec![change]))
}
