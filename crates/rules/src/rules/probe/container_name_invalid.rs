//! Rule `container-name-invalid`, documented in `docs/rules/container-name-invalid.md`.

use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::kube::{Container, RejectionKind};
use meshprobe_predict::predict::WorkloadPrediction;
use meshprobe_yaml::{NodeRef, Span};

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;

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
    let node = container.node.get("name").filter(|name| !name.is_null());
    let is_string = node.and_then(NodeRef::as_str).is_some();
    let refused = match (node.is_some(), is_string, name) {
        (false, _, _) | (_, true, "") => "a container without a name".to_owned(),
        (_, true, _) => format!("container name `{name}`"),
        (_, false, "") => "a container name that is not a string".to_owned(),
        (_, false, _) => format!("container name `{name}`, which is not a string"),
    };
    let mut message = format!("the API server refuses {refused}");
    // The agent serves the same text as a string.
    if is_string || node.is_none() {
        message.push_str(", and the agent could not serve its probes");
    }
    let span = node.map_or(handler, NodeRef::span);
    let mut finding = RULE.finding_on_workload(&pod.workload, span, message);
    finding.container = Some(name.to_owned());
    finding.field = Some(container.field("name").to_string());
    let help = if node.is_some() && !is_string {
        "put the name in quotes"
    } else {
        "use only lower-case letters, digits and `-`, and at most 63 characters"
    };
    finding.help = Some(help.to_owned());
    finding
}
