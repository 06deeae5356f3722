//! Rule `linkerd-path-without-slash`, documented in `docs/rules/linkerd-path-without-slash.md`.

use meshprobe_mesh::finding::{Applicability, Finding, Fix};
use meshprobe_mesh::kube::ProbeHandler;
use meshprobe_mesh::mesh::Mesh;
use meshprobe_mesh::mesh::linkerd::faults;
use meshprobe_predict::predict::{Cause, HandlerPrediction, WorkloadPrediction};
use meshprobe_yaml::{Change, Value};

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;

declare_rule! {
    "linkerd-path-without-slash", Error, fix: Always, scope: Workloads
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.handlers()
        .filter_map(|(pod, handler)| report(pod, handler))
        .collect()
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Option<Finding> {
    if pod.mesh.value != Some(Mesh::LINKERD)
        || handler.verdict.cause != Cause::Other(&faults::PATH_WITHOUT_SLASH)
    {
        return None;
    }
    let message = format!(
        "{} is denied: Linkerd creates no working route for a path without a leading slash",
        handler.title()
    );
    let span = handler.handler.field_span("path");
    let mut finding = RULE.finding_on_handler(pod, handler, span, message);
    finding.help = Some("add a leading slash to the path".to_owned());
    finding.fix = fix(pod, handler);
    Some(finding)
}

fn fix(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Option<Fix> {
    let Ok(ProbeHandler::HttpGet(http)) = &handler.handler.action else {
        return None;
    };
    let path = format!("/{}", http.path);
    let title = format!("set the path to `{path}`");
    let change = Change::Set {
        route: handler.handler.route.child("httpGet").child("path"),
        value: Value::from(path.as_str()),
    };
    let object = &pod.workload.object;
    Some(Fix::of_object(
        object,
        title,
        Applicability::Safe,
        vec![change],
    ))
}
