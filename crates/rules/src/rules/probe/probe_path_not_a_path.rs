//! Rule `probe-path-not-a-path`, documented in `docs/rules/probe-path-not-a-path.md`.

use meshprobe_mesh::finding::{Applicability, Finding, Fix};
use meshprobe_mesh::kube::ProbeHandler;
use meshprobe_predict::predict::{
    Cause, HandlerPrediction, Outcome, PathMisread, WorkloadPrediction,
};
use meshprobe_yaml::{Change, Value};

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;

declare_rule! {
    "probe-path-not-a-path", Error, fix: Sometimes, scope: Workloads
}

const START_WITH_SLASH: &str = "set a path that starts with `/`";

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    let handlers = cx.handlers();
    handlers
        .filter_map(|(pod, handler)| match handler.verdict.cause {
            Cause::PathMisread => Some(report(pod, handler)),
            Cause::PathWithoutHost => Some(report_without_host(pod, handler)),
            _ => None,
        })
        .collect()
}

/// Reports a path of a probe that is not rewritten, and that the kubelet cannot request.
fn report_without_host(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Finding {
    let path = path_of(handler);
    let scheme = path.split(':').next().unwrap_or_default();
    let message = format!(
        "{} will fail: the kubelet cannot request `{path}`, because it reads `{scheme}` as the scheme of a URL without a host",
        handler.title()
    );
    let span = handler.handler.field_span("path");
    let mut finding = RULE.finding_on_handler(pod, handler, span, message);
    finding.help = Some(START_WITH_SLASH.to_owned());
    finding
}

fn path_of<'a>(handler: &'a HandlerPrediction<'_>) -> &'a str {
    match &handler.handler.action {
        Ok(ProbeHandler::HttpGet(http)) => http.path.as_str(),
        _ => "",
    }
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Finding {
    let path = path_of(handler);
    let span = handler.handler.field_span("path");
    let Some(misread) = PathMisread::of(path) else {
        let message = format!("{} will fail", handler.title());
        return RULE.finding_on_handler(pod, handler, span, message);
    };
    let effect = match handler.verdict.outcome {
        Outcome::TargetChanged => "will check another path",
        _ => "will fail",
    };
    let message = format!("{} {effect}: {misread}", handler.title());
    let mut finding = RULE.finding_on_handler(pod, handler, span, message);
    finding.help = Some(help(path, &misread));
    finding.fix = misread
        .kubelet()
        .filter(|_| misread.agent().is_some() && misread.has_scheme() && !pod.is_prerewritten())
        .map(|path| set_path(pod, handler, path.to_owned()));
    finding
}

fn help(path: &str, misread: &PathMisread<'_>) -> String {
    match misread.kubelet() {
        Some(_) if misread.agent().is_some() && !misread.has_scheme() => {
            "start the path with one `/`: a name after two slashes is a host".to_owned()
        }
        Some(kubelet) if misread.agent().is_some() => format!("set only the path: `{kubelet}`"),
        None => START_WITH_SLASH.to_owned(),
        _ if path.bytes().any(|byte| byte.is_ascii_control()) => {
            "remove control characters, or percent-encode them".to_owned()
        }
        _ => "write a literal `%` as `%25`".to_owned(),
    }
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
