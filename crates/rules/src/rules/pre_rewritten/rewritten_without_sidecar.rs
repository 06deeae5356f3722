//! Rule `rewritten-without-sidecar`, documented in `docs/rules/rewritten-without-sidecar.md`.

use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::kube::ProbeHandler;
use meshprobe_predict::context::{Dataplane, proxy_container};
use meshprobe_predict::predict::{Cause, HandlerPrediction, WorkloadPrediction};

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;

declare_rule! {
    "rewritten-without-sidecar", Error, fix: None, scope: Workloads
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.handlers()
        .filter(|(_, handler)| handler.verdict.cause == Cause::RewrittenWithoutSidecar)
        .map(|(pod, handler)| report_handler(pod, handler))
        .chain(cx.pods().filter_map(report_container))
        .collect()
}

fn report_handler(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Finding {
    let path = match &handler.handler.action {
        Ok(ProbeHandler::HttpGet(http)) => http.path.as_str(),
        _ => "",
    };
    let message = format!(
        "{} will fail: it requests `{path}` from the agent on port {}, but {} gets no sidecar",
        handler.title(),
        handler.port.unwrap_or_default(),
        pod.workload.title(),
    );
    let span = handler.handler.field_span("path");
    let mut finding = RULE.finding_on_handler(pod, handler, span, message);
    finding.help = Some(
        "have the pod injected, or restore the path and port of the application: `meshprobe rewrite \
         --undo` does this if the prober env still exists"
            .to_owned(),
    );
    finding
}

/// Reports a sidecar container with the image `auto` that no injector replaces.
fn report_container(pod: &WorkloadPrediction<'_>) -> Option<Finding> {
    if !matches!(pod.dataplane.value, Dataplane::None | Dataplane::Ambient) {
        return None;
    }
    let proxy = proxy_container(&pod.workload)?;
    let image = proxy
        .node
        .get("image")
        .filter(|image| image.text() == Some("auto"))?;
    let message = format!(
        "container `{}` cannot start: only the injector replaces the image `auto`, but {} gets no \
         sidecar",
        proxy.name(),
        pod.workload.title(),
    );
    let mut finding = RULE.finding_on_workload(&pod.workload, image.span(), message);
    finding.container = Some(proxy.name().to_owned());
    finding.field = Some(proxy.field("image").to_string());
    finding.depend_on(&pod.dataplane);
    finding.help = Some("have the pod injected, or remove the container".to_owned());
    Some(finding)
}
