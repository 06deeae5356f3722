//! Rule `pod-security-forbids-host`, documented in `docs/rules/pod-security-forbids-host.md`.

use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::mesh::Fact;
use meshprobe_predict::predict::{HandlerPrediction, Outcome, WorkloadPrediction, sets_host};

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;
use crate::rules::support::finding_builder::probe_ref;
use crate::rules::support::pod_metadata;

declare_rule! {
    "pod-security-forbids-host", Error, fix: None, scope: Workloads
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for pod in cx.pods() {
        let mut handlers = pod
            .handlers
            .iter()
            .filter(|handler| sets_host(handler))
            .peekable();
        if handlers.peek().is_none() {
            continue;
        }
        if let Some(forbidden) = cx.context.forbids_hosts(&pod.workload) {
            findings.extend(handlers.map(|handler| report(pod, handler, &forbidden)));
        }
    }
    findings
}

fn report(
    pod: &WorkloadPrediction<'_>,
    handler: &HandlerPrediction<'_>,
    forbidden: &Fact<()>,
) -> Finding {
    let message = format!(
        "{} sets `host`, which Pod Security forbids since Kubernetes 1.34, so {}",
        handler.title(),
        pod_metadata::not_created(&pod.workload),
    );
    let span = handler.handler.field_span("host");
    // The facts about the mesh do not matter.
    let mut finding = RULE.finding_on_workload(&pod.workload, span, message);
    finding.container = Some(handler.container.name().to_owned());
    finding.field = Some(handler.handler.within.to_string());
    finding.probe = Some(probe_ref(pod, handler));
    if handler.verdict.outcome == Outcome::Refused {
        finding.outcome = Some(handler.verdict.outcome.as_str());
    }
    finding.depend_on(forbidden);
    finding.help = Some(
        "remove `host`; set the header `Host` if the application needs a host name".to_owned(),
    );
    finding
}
