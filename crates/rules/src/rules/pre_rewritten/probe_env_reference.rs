//! Rule `probe-env-reference`, documented in `docs/rules/probe-env-reference.md`.

use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::kube::ProbeHandler;
use meshprobe_predict::predict::{HandlerPrediction, Outcome, WorkloadPrediction};
use meshprobe_yaml::{NodeRef, Span};

use crate::rules::RuleContext;
use crate::rules::rule::declare_rule;

declare_rule! {
    "probe-env-reference", Warning, fix: None, scope: Workloads
}

fn check(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    cx.handlers()
        .filter_map(|(pod, handler)| report(pod, handler))
        .collect()
}

fn report(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Option<Finding> {
    if handler.verdict.outcome != Outcome::Ok {
        return None;
    }
    let action = handler.handler.action.as_ref().ok()?;
    let (span, text) = if handler.agent_path().is_some() {
        (handler.handler.field_span("path"), recorded(pod, action)?)
    } else if handler.rewritten {
        written(handler, action)?
    } else {
        return None;
    };
    let message = format!(
        "{} contains `{text}`: the rewrite moves it to the env of the sidecar, where the kubelet \
         expands it",
        handler.title(),
    );
    let mut finding = RULE.finding_on_handler(pod, handler, span, message);
    finding.outcome = None;
    finding.help = Some("write the literal value".to_owned());
    Some(finding)
}

/// Returns the first reference in the entry of a handler that targets the agent.
fn recorded(pod: &WorkloadPrediction<'_>, action: &ProbeHandler) -> Option<String> {
    let ProbeHandler::HttpGet(http) = action else {
        return None;
    };
    let probers = pod.prober_env.as_ref()?.probers.as_ref().ok()?;
    reference(probers.get(&http.path)?)
}

/// Returns the span of the first value of a handler that contains a reference, and the reference.
fn written(handler: &HandlerPrediction<'_>, action: &ProbeHandler) -> Option<(Span, String)> {
    let node = handler.handler.node.get(action.key())?;
    let fields = ["path", "service"]
        .into_iter()
        .filter_map(|key| node.get(key));
    let in_headers = node
        .get("httpHeaders")
        .into_iter()
        .flat_map(NodeRef::items)
        .flat_map(|header| [header.get("name"), header.get("value")])
        .flatten();
    fields
        .chain(in_headers)
        .find_map(|value| Some((value.span(), reference(value.text()?)?)))
}

/// Returns the first `$(NAME)` or `$$` in a text.
fn reference(text: &str) -> Option<String> {
    let (at, _) = text.match_indices('$').find(|(at, _)| {
        text.get(at + 1..)
            .is_some_and(|rest| rest.starts_with(['$', '(']))
    })?;
    let rest = text.get(at..)?;
    if rest.starts_with("$$") {
        return Some("$$".to_owned());
    }
    let end = rest.find(')')?;
    rest.get(..=end).map(str::to_owned)
}
