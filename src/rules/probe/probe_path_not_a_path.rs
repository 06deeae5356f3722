//! Rule `probe-path-not-a-path`, documented in `docs/rules/probe-path-not-a-path.md`.

use crate::finding::{Applicability, Finding, Fix};
use crate::kube::ProbeHandler;
use crate::predict::{Cause, HandlerPrediction, WorkloadPrediction};
use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;
use crate::yaml::{Change, Value};

declare_rule! {
    "probe-path-not-a-path", Error, fix: Sometimes, scope: Workloads
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.handlers()
        .filter(|(_, handler)| handler.verdict.cause == Cause::PathMisread)
        .map(|(pod, handler)| report(pod, handler))
        .collect()
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Finding {
    let path = match &handler.handler.action {
        Ok(ProbeHandler::HttpGet(http)) => http.path.as_str(),
        _ => "",
    };
    let url_path = path_of_url(path);
    let reason = match &url_path {
        Some(_) => format!("the agent requests `/{path}` from the application"),
        None => format!("the agent cannot parse the path `{path}`"),
    };
    let message = format!("{} will fail: {reason}", handler.title());
    let span = handler.handler.field_span("path");
    let mut finding = RULE.finding_on_handler(pod, handler, span, message);
    finding.help = Some(match &url_path {
        Some(path) => format!("set only the path: `{path}`"),
        None => "write a literal `%` as `%25`".to_owned(),
    });
    finding.fix = url_path
        .filter(|_| !pod.is_prerewritten())
        .map(|path| set_path(pod, handler, path));
    finding
}

/// Returns the path of a URL, with its query; `None` if the text is not a URL.
fn path_of_url(url: &str) -> Option<String> {
    let (scheme, rest) = url.split_once("://")?;
    if scheme.contains(['/', '?', '#', '%']) {
        return None;
    }
    let path = rest.find('/').and_then(|at| rest.get(at..)).unwrap_or("/");
    Some(path.to_owned())
}

fn set_path(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>, path: String) -> Fix {
    let reason = format!("the kubelet then requests `{path}`, and the result of the probe changes");
    let change = Change::Set {
        route: handler.handler.route.child("httpGet").child("path"),
        value: Value::Str(path),
    };
    Fix::of_object(
        &pod.workload.object,
        "set only the path",
        Applicability::unsafe_because(reason),
        vec![change],
    )
}
