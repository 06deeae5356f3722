//! Rule `container-name-invalid`, documented in `docs/rules/container-name-invalid.md`.

use crate::finding::Finding;
use crate::kube::{Container, RejectionKind};
use crate::predict::WorkloadPrediction;
use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;
use crate::yaml::{NodeRef, Span};

declare_rule! {
    "container-name-invalid", Error, fix: None, scope: Workloads
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.pods().flat_map(of_pod).collect()
}

/// Returns one finding for each container that the API server refuses because of its name.
fn of_pod(pod: &WorkloadPrediction<'_>) -> Vec<Finding> {
    let mut seen = Vec::new();
    let mut findings = Vec::new();
    for handler in &pod.handlers {
        let is_refused = handler
            .api_rejection()
            .is_some_and(|refusal| refusal.kind == RejectionKind::ContainerName);
        if is_refused && !seen.contains(&&handler.container.route) {
            seen.push(&handler.container.route);
            findings.push(report(pod, &handler.container, handler.handler.key.span()));
        }
    }
    findings
}

fn report(pod: &WorkloadPrediction<'_>, container: &Container<'_>, handler: Span) -> Finding {
    let name = container.name();
    let message = if name.is_empty() {
        "the API server refuses a container without a name, and the agent could not serve its \
         probes"
            .to_owned()
    } else {
        format!(
            "the API server refuses container name `{name}`, and the agent could not serve its \
             probes"
        )
    };
    let span = container.node.get("name").map_or(handler, NodeRef::span);
    let mut finding = RULE.finding_on_workload(&pod.workload, span, message);
    finding.container = Some(name.to_owned());
    finding.field = Some(container.field("name").to_string());
    finding.help =
        Some("use only lower-case letters, digits and `-`, and at most 63 characters".to_owned());
    finding
}
