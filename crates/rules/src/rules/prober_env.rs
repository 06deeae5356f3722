//! Rules about the prober env of pods that were rewritten ahead of deployment.

use meshprobe_mesh::finding::{Applicability, Finding, Fix, Sentence};
use meshprobe_mesh::kube::{Port, ProbeHandler, Workload};
use meshprobe_mesh::mesh::istio::keys;
use meshprobe_predict::context::{ProberEnvPlace, proxy_container};
use meshprobe_predict::predict::{
    Cause, HandlerPrediction, Outcome, ProberEnvFault, WorkloadPrediction,
};
use meshprobe_yaml::{Change, NodeRef, Span, Value};

use crate::rules::Rule;

crate::rules::rule::rules! {
    MANUAL_PROBERS_ENV = "manual-probers-env", Error, fix: Sometimes, scope: Workloads,
        |cx| cx.each_handler(manual_probers_env);
    PROBE_ENV_REFERENCE = "probe-env-reference", Warning, fix: None, scope: Workloads,
        |cx| cx.each_handler(probe_env_reference);
    PROBE_TIMEOUT_MISSING_IN_ENV = "probe-timeout-missing-in-env", Error, fix: Sometimes, scope: Workloads,
        |cx| cx.each_with(Cause::AgentTimeoutZero, probe_timeout_missing_in_env);
    PROBERS_ENV_INVALID = "probers-env-invalid", Error, fix: Sometimes, scope: Workloads,
        |cx| cx.pods().flat_map(probers_env_invalid).collect();
    LIFECYCLE_KEY_NEEDS_1_25 = "lifecycle-key-needs-1-25", Error, fix: Sometimes, scope: Workloads,
        |cx| cx.pods().flat_map(lifecycle_key_needs_1_25).collect();
}

fn manual_probers_env(
    pod: &WorkloadPrediction<'_>,
    handler: &HandlerPrediction<'_>,
) -> Option<Finding> {
    match handler.verdict.cause {
        Cause::EntryReplaced => Some(replaced(pod, handler)),
        Cause::RewrittenWithoutEntry => Some(doubled(pod, handler, written_twice(pod)?)),
        _ => None,
    }
}

fn replaced(pod: &WorkloadPrediction<'_>, handler: &HandlerPrediction<'_>) -> Finding {
    let object = &pod.workload.object;
    let sentence = Sentence::all(format!(
        "will fail: the injector adds a second `{}` for handlers that are not rewritten yet, and the one in the manifest is lost",
        keys::PROBERS_ENV
    ));
    let span = handler.handler.field_span("path");
    let mut finding = MANUAL_PROBERS_ENV.finding_on_handler(pod, handler, span, sentence);
    let env = pod.prober_env.as_ref();
    let lost = env.map(|env| object.label_at(env.span, "this variable is lost"));
    let rewritten = rewritten_by_injector(pod).map(|handler| {
        let message = "the injector rewrites this handler";
        object.label_at(handler.handler.key.span(), message)
    });
    finding
        .related
        .splice(0..0, lost.into_iter().chain(rewritten));
    finding.help = Some(format!(
        "also rewrite the other handlers ahead of deployment, or set `{}` to \"false\"",
        keys::REWRITE_PROBERS
    ));
    finding.fix = Some(opt_out_fix(pod));
    finding
}

fn doubled(
    pod: &WorkloadPrediction<'_>,
    handler: &HandlerPrediction<'_>,
    first: NodeRef<'_>,
) -> Finding {
    let sentence = Sentence::all(format!(
        "will fail: `{}` is set twice, and only the last variable counts",
        keys::PROBERS_ENV
    ));
    let span = handler.handler.field_span("path");
    let mut finding = MANUAL_PROBERS_ENV.finding_on_handler(pod, handler, span, sentence);
    let label = pod
        .workload
        .object
        .label_at(first.span(), "this variable is lost");
    finding.related.insert(0, label);
    finding.help = Some("merge the entries into one variable".to_owned());
    finding
}

/// Returns the first handler that makes the injector add a variable of its own: a handler of the application,
/// or one that targets the agent on a port other than the status port of the mesh.
fn rewritten_by_injector<'p, 't>(
    pod: &'p WorkloadPrediction<'t>,
) -> Option<&'p HandlerPrediction<'t>> {
    let mut rewritten = pod.handlers.iter().filter(|handler| handler.rewritten);
    rewritten.find(|handler| {
        let other_port = [Cause::AgentCallsItself, Cause::RewrittenOtherPort];
        handler.agent_path().is_none() || other_port.contains(&handler.verdict.cause)
    })
}

/// Returns the node of the first variable's name if the container sets the prober env twice.
pub(super) fn written_twice<'t>(pod: &WorkloadPrediction<'t>) -> Option<NodeRef<'t>> {
    let env = proxy_container(&pod.workload)?.node.get("env")?;
    let mut names = env
        .items()
        .filter_map(|item| item.get("name"))
        .filter(|name| name.text() == Some(keys::PROBERS_ENV));
    let first = names.next()?;
    names.next().map(|_| first)
}

fn probe_env_reference(
    pod: &WorkloadPrediction<'_>,
    handler: &HandlerPrediction<'_>,
) -> Option<Finding> {
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
    let sentence = Sentence::each(format!(
        "contains `{text}`: the rewrite moves it to the env of the sidecar, where the kubelet expands it"
    ));
    let mut finding = PROBE_ENV_REFERENCE.finding_on_handler(pod, handler, span, sentence);
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

fn probe_timeout_missing_in_env(
    pod: &WorkloadPrediction<'_>,
    handler: &HandlerPrediction<'_>,
) -> Finding {
    let path = handler.agent_path().unwrap_or_default();
    let sentence = Sentence::each(format!(
        "will fail: entry `{path}` of `{}` has no timeout, so the gRPC check of the agent times out before it starts",
        keys::PROBERS_ENV,
    ));
    let mut finding = finding_on_env_of_handler(
        &PROBE_TIMEOUT_MISSING_IN_ENV,
        pod,
        handler,
        sentence,
        "the probe that uses this entry",
    );
    finding.help =
        Some("add the default of Kubernetes to the entry: `\"timeoutSeconds\":1`".to_owned());
    finding.fix = set_timeout(pod, path);
    finding
}

fn set_timeout(pod: &WorkloadPrediction<'_>, path: &str) -> Option<Fix> {
    let value = pod.prober_env.as_ref()?.with_timeout(path, 1)?;
    let change = set_value(pod, value)?;
    let title = "set the timeout of the entry to 1 second";
    let object = &pod.workload.object;
    let degree = Applicability::unsafe_because(
        "another timeout than the default of Kubernetes may be intended",
    );
    Some(Fix::of_object(object, title, degree, vec![change]))
}

fn probers_env_invalid(pod: &WorkloadPrediction<'_>) -> Vec<Finding> {
    let Some(ProberEnvFault::Invalid { path, why }) = &pod.prober_env_fault else {
        return Vec::new();
    };
    let entry = path
        .as_ref()
        .map_or_else(String::new, |path| format!("entry `{path}` "));
    let reason = format!(
        "the agent does not start with this `{}`: {entry}{why}",
        keys::PROBERS_ENV
    );
    let mut findings = agent_start_findings(&PROBERS_ENV_INVALID, pod, &reason);
    for finding in &mut findings {
        let help = match path {
            Some(_) => "correct the entry, or remove it together with the probe that uses it",
            None => {
                "correct the JSON: it must be an object whose keys are paths, as the injector writes it"
            }
        };
        finding.help = Some(help.to_owned());
        finding.fix = path.as_ref().and_then(|path| resolve_port(pod, path));
    }
    findings
}

/// Returns one finding for each handler that fails because the agent does not start; if there is none, one
/// finding about the pod.
fn agent_start_findings(rule: &Rule, pod: &WorkloadPrediction<'_>, reason: &str) -> Vec<Finding> {
    let is_affected =
        |handler: &&HandlerPrediction<'_>| handler.verdict.cause == Cause::AgentRefusesEnv;
    let mut findings: Vec<Finding> = pod
        .handlers
        .iter()
        .filter(is_affected)
        .map(|handler| {
            let sentence = Sentence::all(format!("will fail: {reason}"));
            finding_on_env_of_handler(rule, pod, handler, sentence, "this handler is then refused")
        })
        .collect();
    if findings.is_empty() {
        let message = format!("`{}` restarts in a loop: {reason}", keys::PROXY_CONTAINER);
        let mut finding = finding_on_env(rule, pod, message);
        finding.depend_on(&pod.dataplane);
        findings.push(finding);
    }
    findings
}

/// Returns the fix that replaces the port name of an entry by the number that the container of its path
/// declares.
fn resolve_port(pod: &WorkloadPrediction<'_>, path: &str) -> Option<Fix> {
    let env = pod.prober_env.as_ref()?;
    let name = env.port_name_of(path)?;
    let owner = path.split('/').nth(2)?;
    let containers = pod.workload.template.containers();
    let container = containers
        .iter()
        .find(|container| container.name() == owner)?;
    let declared = container
        .ports()
        .filter(|port| port.name == Some(name.as_str()));
    let number = match name.parse() {
        Ok(number) => number,
        Err(_) => declared.last()?.number?,
    };
    let change = set_value(pod, env.with_port(path, number)?)?;
    let title = format!("set the port to {number}, which is port `{name}` of container `{owner}`");
    let object = &pod.workload.object;
    Some(Fix::of_object(
        object,
        title,
        Applicability::unsafe_because(format!(
            "the agent, which does not start now, then starts and checks port {number}"
        )),
        vec![change],
    ))
}

fn lifecycle_key_needs_1_25(pod: &WorkloadPrediction<'_>) -> Vec<Finding> {
    let Some(ProberEnvFault::Hook { path }) = &pod.prober_env_fault else {
        return Vec::new();
    };
    let release = pod.release.value;
    let release = release.map_or_else(String::new, |release| release.to_string());
    let reason = format!(
        "the agent of Istio {release} does not start with entry `{path}` of `{}`, because it does \
         not support hooks",
        keys::PROBERS_ENV,
    );
    let fix = restore(pod, path);
    let mut findings = agent_start_findings(&LIFECYCLE_KEY_NEEDS_1_25, pod, &reason);
    for finding in &mut findings {
        finding.help =
            Some("upgrade to Istio 1.25, or do not rewrite hooks ahead of deployment".to_owned());
        finding.fix.clone_from(&fix);
        finding.depend_on(&pod.release);
    }
    findings
}

/// Returns the fix that restores the hook that requests `path` from its entry, and removes the entry.
fn restore(pod: &WorkloadPrediction<'_>, path: &str) -> Option<Fix> {
    let env = pod.prober_env.as_ref()?;
    let mut changes = vec![set_value(pod, env.without(path)?)?];
    let mut hooks = pod.handlers.iter();
    if let Some(hook) = hooks.find(|handler| handler.agent_path() == Some(path)) {
        let recorded = env.plain_http_of(path)?;
        let route = hook.handler.route.child("httpGet");
        let mut set = |field: &'static str, value: Value| {
            changes.push(Change::set(route.child(field), value));
        };
        set("path", Value::Str(recorded.path));
        if let Port::Number(port) = recorded.port {
            set("port", Value::Int(port));
        }
        if recorded.scheme != "HTTP" {
            set("scheme", Value::Str(recorded.scheme));
        }
    }
    let object = &pod.workload.object;
    let (title, reason) = if changes.len() > 1 {
        (
            format!("restore the original hook, and remove the entry `{path}`"),
            "the kubelet then calls the application directly instead of through the agent",
        )
    } else {
        (
            format!("remove the entry `{path}`"),
            "the agent, which does not start now, then starts",
        )
    };
    Some(Fix::of_object(
        object,
        title,
        Applicability::unsafe_because(reason),
        changes,
    ))
}

/// Returns the span of the prober env; `None` if its value has several lines.
fn prober_env_span(pod: &WorkloadPrediction<'_>) -> Option<Span> {
    let text = pod.workload.template.node.tree().text();
    let env = pod.prober_env.as_ref().map(|env| env.span);
    env.filter(|span| !span.slice(text).contains('\n'))
}

/// Creates a finding about a handler that points at the prober env, which causes the fault. `label` is the
/// message of the label at the handler.
fn finding_on_env_of_handler(
    rule: &Rule,
    pod: &WorkloadPrediction<'_>,
    handler: &HandlerPrediction<'_>,
    sentence: Sentence,
    label: &str,
) -> Finding {
    let probe = match handler.agent_path() {
        Some(_) => handler.handler.field_span("path"),
        None => handler.handler.key.span(),
    };
    let env = prober_env_span(pod);
    let span = env.unwrap_or(probe);
    let mut finding = rule.finding_on_handler(pod, handler, span, sentence);
    if env.is_some() {
        let label = pod.workload.object.label_at(probe, label);
        finding.related.insert(0, label);
    }
    finding
}

/// Creates a finding about the prober env of a pod.
pub(super) fn finding_on_env(
    rule: &Rule,
    pod: &WorkloadPrediction<'_>,
    message: String,
) -> Finding {
    let workload = &pod.workload;
    let place = prober_env_span(pod).or_else(|| prober_env_name(workload).map(NodeRef::span));
    let span = place.unwrap_or_else(|| workload.object.name_span());
    rule.finding_on_workload(workload, span, message)
}

/// Returns the name of the variable in the env of the sidecar.
fn prober_env_name<'t>(workload: &Workload<'t>) -> Option<NodeRef<'t>> {
    let variable = proxy_container(workload)?.env(keys::PROBERS_ENV)?;
    variable.node.get("name")
}

/// Returns the change that sets the variable to another value; `None` if the variable is in the annotation
/// with the proxy configuration, which the annotation contains as text.
fn set_value(pod: &WorkloadPrediction<'_>, value: String) -> Option<Change> {
    let env = pod.prober_env.as_ref()?;
    if env.place != ProberEnvPlace::Container {
        return None;
    }
    let variable = proxy_container(&pod.workload)?.env(keys::PROBERS_ENV)?;
    Some(Change::set(variable.route.child("value"), value))
}

/// Returns the fix that adds the opt-out, so that the injector leaves probes and prober env unchanged.
pub(super) fn opt_out_fix(pod: &WorkloadPrediction<'_>) -> Fix {
    let key = keys::REWRITE_PROBERS;
    let change = Change::set(pod.workload.template.annotation_route(key), "false");
    let title = format!("set `{key}` to \"false\": the probes then stay unchanged");
    let object = &pod.workload.object;
    let applicability = Applicability::unsafe_because(format!(
        "handlers without an entry in `{}` then reach the application unchanged",
        keys::PROBERS_ENV
    ));
    Fix::of_object(object, title, applicability, vec![change])
}
