//! Rule `https-probe-plain-listener`, documented in `docs/rules/https-probe-plain-listener.md`.

use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::mesh::{Mesh, shared_faults};
use meshprobe_predict::predict::{Cause, HandlerPrediction, WorkloadPrediction};

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;

declare_rule! {
    "https-probe-plain-listener", Error, fix: None, scope: Workloads
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.handlers()
        .filter_map(|(pod, handler)| report(pod, handler))
        .collect()
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Option<Finding> {
    if handler.verdict.cause != Cause::Other(&shared_faults::HTTPS_AT_PLAIN_LISTENER) {
        return None;
    }
    let mesh = pod.mesh.value.map_or("the mesh", Mesh::title);
    let message = format!(
        "{} fails: {mesh} redirects it to a listener that expects plain HTTP",
        handler.title()
    );
    let span = handler.handler.field_span("scheme");
    let mut finding = RULE.finding_on_handler(pod, handler, span, message);
    finding.help =
        Some("use plain HTTP, or an `exec` probe that sends the request to 127.0.0.1".to_owned());
    Some(finding)
}
