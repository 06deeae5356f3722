//! Rules about the fields of probes.

use meshprobe_mesh::finding::{Applicability, Finding, Fix, Sentence};
use meshprobe_mesh::kube::{
    Container, Object, Probe, ProbeHandler, RejectionKind, Unreadable, refused_number,
};
use meshprobe_mesh::mesh::Fact;
use meshprobe_predict::predict::{
    Cause, HandlerPrediction, Outcome, PathMisread, WorkloadPrediction, sets_host,
};
use meshprobe_yaml::{Change, FieldPath, NodeRef, Scalar, Span, Step};

use crate::rules::RuleContext;
use crate::rules::support::finding_builder::probe_ref;
use crate::rules::support::pod_metadata;

crate::rules::rule::rules! {
    CONTAINER_NAME_INVALID = "container-name-invalid", Error, fix: None, scope: Workloads,
        |cx| cx.pods().flat_map(report_container_names).collect();
    POD_SECURITY_FORBIDS_HOST = "pod-security-forbids-host", Error, fix: None, scope: Workloads,
        check_pod_security_forbids_host;
    PROBE_FIELD_INVALID = "probe-field-invalid", Error, fix: None, scope: Workloads,
        |cx| cx.handlers().filter(|(_, handler)| invalid_header_value(&handler.handler).is_none())
            .filter_map(|(pod, handler)| probe_field_invalid(pod, handler)).collect();
    PROBE_PATH_NOT_A_PATH = "probe-path-not-a-path", Error, fix: Sometimes, scope: Workloads,
        check_probe_path_not_a_path;
    PROBE_TWO_HANDLERS = "probe-two-handlers", Error, fix: None, scope: Workloads,
        |cx| cx.each_handler(probe_two_handlers);
    YAML11_HEADER_VALUE = "yaml11-header-value", Error, fix: Always, scope: Workloads,
        |cx| cx.each_handler(yaml11_header_value);
}

/// Returns one finding for each container that the API server refuses because of its name.
fn report_container_names(pod: &WorkloadPrediction<'_>) -> Vec<Finding> {
    let mut seen = Vec::new();
    let mut findings = Vec::new();
    for handler in &pod.handlers {
        let is_refused = handler
            .api_rejection()
            .is_some_and(|refusal| refusal.kind == RejectionKind::ContainerName);
        if is_refused && !seen.contains(&&handler.container.route) {
            seen.push(&handler.container.route);
            findings.push(container_name_invalid(
                pod,
                &handler.container,
                handler.handler.key.span(),
            ));
        }
    }
    findings
}

fn container_name_invalid(
    pod: &WorkloadPrediction<'_>,
    container: &Container<'_>,
    handler: Span,
) -> Finding {
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
    let mut finding = CONTAINER_NAME_INVALID.finding_on_workload(&pod.workload, span, message);
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

fn check_pod_security_forbids_host(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
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
            findings.extend(
                handlers.map(|handler| pod_security_forbids_host(pod, handler, &forbidden)),
            );
        }
    }
    findings
}

fn pod_security_forbids_host(
    pod: &WorkloadPrediction<'_>,
    handler: &HandlerPrediction<'_>,
    forbidden: &Fact<()>,
) -> Finding {
    let not_created = pod_metadata::not_created(&pod.workload);
    let rest =
        format!(" `host`, which Pod Security forbids since Kubernetes 1.34, so {not_created}");
    let span = handler.handler.field_span("host");
    // The facts about the mesh do not matter.
    let mut finding =
        POD_SECURITY_FORBIDS_HOST.finding_on_workload(&pod.workload, span, String::new());
    finding.set_sentence(&handler.title(), Sentence::verb(("sets", "set"), rest));
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

fn probe_field_invalid(
    pod: &WorkloadPrediction<'_>,
    handler: &HandlerPrediction<'_>,
) -> Option<Finding> {
    let (span, within, reason) = match &handler.handler.action {
        Err(Unreadable::Malformed(error)) => (
            error.span,
            error.route.clone(),
            describe_types(&error.message),
        ),
        Err(Unreadable::Placeholder(_)) => return None,
        Ok(_) if handler.verdict.cause == Cause::HookUnsupported => {
            return Some(never_runs(pod, handler));
        }
        Ok(_) => {
            let refusal = handler
                .api_rejection()
                .filter(|refusal| refusal.kind == RejectionKind::Field)?;
            let number = refused_number(&handler.handler);
            let span = match number {
                Some((node, _)) => node.span(),
                None if refusal.field.is_empty() => handler.handler.key.span(),
                None => handler.handler.field_span(refusal.field),
            };
            (span, FieldPath::root(), refusal.reason)
        }
    };
    let sentence = Sentence::after("the API server refuses ", format!(": {reason}"));
    let mut finding = PROBE_FIELD_INVALID.finding_on_handler(pod, handler, span, sentence);
    finding.field = Some(handler.handler.within.join(&within).to_string());
    finding.help = Some("correct the field; the API server refuses the whole object".to_owned());
    Some(finding)
}

/// Returns the finding of a `tcpSocket` hook: the API server accepts it, but the kubelet does not run it.
fn never_runs(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Finding {
    let sentence = Sentence::verb(
        ("always fails", "always fail"),
        ": the kubelet does not support `tcpSocket` hooks",
    );
    let span = handler.handler.kind_span();
    let mut finding = PROBE_FIELD_INVALID.finding_on_handler(pod, handler, span, sentence);
    finding.help = Some("use `httpGet`, `exec` or `sleep`".to_owned());
    finding
}

/// Replaces the names of the API's types in a message by words.
fn describe_types(message: &str) -> String {
    let message = message.replace(
        "expected IntOrString",
        "expected a port number or a port name",
    );
    message.replace("expected i32", "expected an integer")
}

const START_WITH_SLASH: &str = "set a path that starts with `/`";

fn check_probe_path_not_a_path(cx: &RuleContext<'_, '_>) -> Vec<Finding> {
    let handlers = cx.handlers();
    handlers
        .filter_map(|(pod, handler)| match handler.verdict.cause {
            Cause::PathMisread => Some(probe_path_not_a_path(pod, handler)),
            Cause::PathWithoutHost => Some(report_without_host(pod, handler)),
            _ => None,
        })
        .collect()
}

/// Reports a path of a probe that is not rewritten, and that the kubelet cannot request.
fn report_without_host(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Finding {
    let path = path_of(handler);
    let scheme = path.split(':').next().unwrap_or_default();
    let sentence = Sentence::each(format!(
        "will fail: the kubelet cannot request `{path}`, because it reads `{scheme}` as the scheme of a URL without a host"
    ));
    let span = handler.handler.field_span("path");
    let mut finding = PROBE_PATH_NOT_A_PATH.finding_on_handler(pod, handler, span, sentence);
    finding.help = Some(START_WITH_SLASH.to_owned());
    finding
}

fn path_of<'a>(handler: &'a HandlerPrediction<'_>) -> &'a str {
    match &handler.handler.action {
        Ok(ProbeHandler::HttpGet(http)) => http.path.as_str(),
        _ => "",
    }
}

fn probe_path_not_a_path(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Finding {
    let path = path_of(handler);
    let span = handler.handler.field_span("path");
    let Some(misread) = PathMisread::of(path) else {
        let sentence = Sentence::all("will fail");
        return PROBE_PATH_NOT_A_PATH.finding_on_handler(pod, handler, span, sentence);
    };
    let effect = match handler.verdict.outcome {
        Outcome::TargetChanged => "will check another path",
        _ => "will fail",
    };
    let sentence = Sentence::each(format!("{effect}: {misread}"));
    let mut finding = PROBE_PATH_NOT_A_PATH.finding_on_handler(pod, handler, span, sentence);
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
    let change = Change::set(handler.handler.route.child("httpGet").child("path"), path);
    Fix::of_object(
        &pod.workload.object,
        "set only the path",
        Applicability::unsafe_because(reason),
        vec![change],
    )
}

fn probe_two_handlers(
    pod: &WorkloadPrediction<'_>,
    handler: &HandlerPrediction<'_>,
) -> Option<Finding> {
    handler
        .api_rejection()
        .filter(|refusal| refusal.kind == RejectionKind::TwoHandlers)?;
    let kinds: Vec<_> = handler.handler.kinds().collect();
    let names: Vec<&str> = kinds.iter().filter_map(|key| key.text()).collect();
    let (first, rest) = kinds.split_first()?;
    let sentence = Sentence::after(
        "the API server refuses ",
        format!(
            ": it has {} handlers (`{}`)",
            names.len(),
            names.join("`, `")
        ),
    );
    let span = rest.last()?.span();
    let mut finding = PROBE_TWO_HANDLERS.finding_on_handler(pod, handler, span, sentence);
    let object = &pod.workload.object;
    finding.relate(object.label_at(first.span(), "first handler"));
    finding.help = Some(
        "keep one handler; in a patch that adds a handler, set the old one to null to remove it"
            .to_owned(),
    );
    Some(finding)
}

/// Returns the header value that makes a handler unreadable, with its route; `None` if another field does, or
/// none.
fn invalid_header_value<'t>(handler: &Probe<'t>) -> Option<(NodeRef<'t>, FieldPath)> {
    let Err(Unreadable::Malformed(error)) = &handler.action else {
        return None;
    };
    let is_value = matches!(
        error.route.steps(),
        [_, Step::Key(list), Step::Index(_), Step::Key(key)] if list == "httpHeaders" && key == "value"
    );
    let node = handler.node.at(&error.route).filter(|_| is_value)?;
    let scalar = node.scalar()?;
    (!matches!(scalar, Scalar::Str(_))).then(|| (node, error.route.clone()))
}

fn yaml11_header_value(
    pod: &WorkloadPrediction<'_>,
    handler: &HandlerPrediction<'_>,
) -> Option<Finding> {
    let (node, route) = invalid_header_value(&handler.handler)?;
    let (text, scalar) = (node.text()?, node.scalar()?);
    let sentence = Sentence::after(
        "the API server refuses ",
        format!(
            ": header value `{text}` is {}, not a string",
            scalar.type_name()
        ),
    );
    let mut finding = YAML11_HEADER_VALUE.finding_on_handler(pod, handler, node.span(), sentence);
    finding.field = Some(handler.handler.within.join(&route).to_string());
    let route = handler.handler.route.join(&route);
    let object = &pod.workload.object;
    quote_value(&mut finding, object, (route, node), "quote the value");
    Some(finding)
}

/// Adds the fix that quotes a value, and its help, to a finding. The fix is safe if the text is the usual
/// spelling of the value.
pub(super) fn quote_value(
    finding: &mut Finding,
    object: &Object<'_>,
    (route, node): (FieldPath, NodeRef<'_>),
    title: &str,
) {
    let text = node.text().unwrap_or_default();
    let is_plain = match node.scalar() {
        Some(Scalar::Bool(value)) => value.to_string() == text,
        Some(Scalar::Int(value)) => value.to_string() == text,
        _ => false,
    };
    let degree = if is_plain {
        Applicability::Safe
    } else {
        Applicability::unsafe_because(format!(
            "`{text}` is not the usual spelling of the value, and another text may be intended"
        ))
    };
    finding.help = Some(format!("quote the value: `\"{text}\"`"));
    let changes = vec![Change::set(route, text)];
    finding.fix = Some(Fix::of_object(object, title, degree, changes));
}
