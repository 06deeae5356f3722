//! Finds reasons why a rewritten handler would not check the same as the original.

use meshprobe_mesh::finding::GuardId;
use meshprobe_mesh::kube::{
    Port, Probe, ProbeHandler, Unreadable, api_rejection, is_dns_label, refused_number,
};
use meshprobe_tree::source::placeholder;

use crate::context::Context;
use crate::predict::cause::Cause;
use crate::predict::go_url::PathMisread;
use crate::predict::model::resolve;
use crate::predict::prediction::{HandlerPrediction, WorkloadPrediction, port_text};

/// A reason not to point a handler at the agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RewriteBlocker {
    /// The public id of the guard.
    pub guard: GuardId,
    /// What would happen, in one sentence.
    pub message: String,
    /// The field of the handler to point at (`port`, `host` …); empty for the handler itself.
    pub field: &'static str,
}

impl RewriteBlocker {
    fn new(guard: GuardId, field: &'static str, message: impl Into<String>) -> Self {
        Self {
            guard,
            message: message.into(),
            field,
        }
    }
}

/// Returns the rewrite blockers of a handler that uses the network, the most severe first. Empty for all other
/// handlers and for handlers that can be rewritten.
///
/// Sources: `app_probe.go` (what is recorded), `status/server.go` (what the agent accepts), both
/// of Istio 1.31, and the validation of the Kubernetes API.
#[must_use]
pub fn rewrite_blockers(
    context: &Context<'_>,
    pod: &WorkloadPrediction<'_>,
    prediction: &HandlerPrediction<'_>,
) -> Vec<RewriteBlocker> {
    let handler = &prediction.handler;
    let action = match &handler.action {
        Ok(action) => action,
        Err(fault) => return vec![unreadable(fault)],
    };
    let Some(port) = action.port() else {
        return Vec::new();
    };
    if handler.written > 1 {
        let message = "two handlers are set, but the API server allows only one";
        return vec![RewriteBlocker::new(GuardId::TWO_HANDLERS, "", message)];
    }
    let all = [
        container_blocker(pod, prediction),
        number_blocker(prediction),
        port_blocker(context, pod, prediction, &port),
        action_blocker(action),
        field_blocker(prediction, action),
    ];
    let mut found: Vec<_> = all.into_iter().flatten().collect();
    if found.is_empty() {
        found.extend(rejection_blocker(prediction));
    }
    found
}

/// Returns the first of the [`rewrite_blockers`] of a handler.
#[must_use]
pub fn rewrite_blocker(
    context: &Context<'_>,
    pod: &WorkloadPrediction<'_>,
    prediction: &HandlerPrediction<'_>,
) -> Option<RewriteBlocker> {
    rewrite_blockers(context, pod, prediction)
        .into_iter()
        .next()
}

fn unreadable(fault: &Unreadable) -> RewriteBlocker {
    let error = match fault {
        Unreadable::Placeholder(_) => {
            let message = "a value is a placeholder";
            return RewriteBlocker::new(GuardId::PLACEHOLDER, "", message);
        }
        Unreadable::Malformed(error) => error,
    };
    let guard = if error.message.contains("32-bit") {
        GuardId::PORT_RANGE
    } else {
        GuardId::INVALID_HANDLER
    };
    let message = format!("the API server would refuse it: {}", error.message);
    RewriteBlocker::new(guard, "", message)
}

fn container_blocker(
    pod: &WorkloadPrediction<'_>,
    prediction: &HandlerPrediction<'_>,
) -> Option<RewriteBlocker> {
    let name = prediction.container.name();
    if placeholder::contains(name) {
        let message = "the container's name is a placeholder";
        return Some(RewriteBlocker::new(GuardId::PLACEHOLDER, "", message));
    }
    if !is_dns_label(name) {
        let message = format!("the agent can't serve a container named `{name}`");
        return Some(RewriteBlocker::new(GuardId::CONTAINER_NAME, "", message));
    }
    if pod.workload.template.index().is_shared_name(name) {
        let message = format!("two containers are named `{name}` and would share one prober");
        return Some(RewriteBlocker::new(
            GuardId::DUPLICATE_CONTAINER_NAME,
            "",
            message,
        ));
    }
    let is_plain_init = prediction.container.list == meshprobe_mesh::kube::ContainerList::Init
        && !prediction.container.is_native_sidecar();
    if is_plain_init {
        let message = "the API server refuses probes and hooks on an init container without \
                       `restartPolicy: Always`";
        return Some(RewriteBlocker::new(GuardId::INVALID_HANDLER, "", message));
    }
    None
}

fn number_blocker(prediction: &HandlerPrediction<'_>) -> Option<RewriteBlocker> {
    let (_, reason) = refused_number(&prediction.handler)?;
    let message = format!("the API server would refuse it: {reason}");
    Some(RewriteBlocker::new(GuardId::INVALID_HANDLER, "", message))
}

/// Returns the blocker for any other reason for which the API server refuses the handler.
fn rejection_blocker(prediction: &HandlerPrediction<'_>) -> Option<RewriteBlocker> {
    let rejection = api_rejection(&prediction.container, &prediction.handler)?;
    let message = format!("the API server would refuse it: {}", rejection.reason);
    let field = rejection.field;
    Some(RewriteBlocker::new(
        GuardId::INVALID_HANDLER,
        field,
        message,
    ))
}

fn port_blocker(
    context: &Context<'_>,
    pod: &WorkloadPrediction<'_>,
    prediction: &HandlerPrediction<'_>,
    port: &Port,
) -> Option<RewriteBlocker> {
    if let Port::Name(name) = port
        && placeholder::contains(name)
    {
        let message = "the port is a placeholder";
        return Some(RewriteBlocker::new(GuardId::PLACEHOLDER, "port", message));
    }
    let number = match resolve(port, &prediction.container, &pod.workload) {
        Ok(number) => number,
        Err(cause) => {
            let message = match cause {
                Cause::Placeholder => {
                    let message = format!("the number of port `{port}` is a placeholder");
                    return Some(RewriteBlocker::new(GuardId::PLACEHOLDER, "port", message));
                }
                Cause::PortQuoted => {
                    let port = port_text(port);
                    format!("port `{port}` is a string, so the injector treats it as a name")
                }
                Cause::PortOfOtherContainer => {
                    format!("port name `{port}` is declared only in another container")
                }
                _ => format!("port name `{port}` is not declared in the container"),
            };
            return Some(RewriteBlocker::new(
                GuardId::PORT_UNRESOLVED,
                "port",
                message,
            ));
        }
    };
    if !(1..=65535).contains(&number) {
        let message = if is_written(prediction) {
            format!("{number} is not a port")
        } else {
            "it does not name a port".to_owned()
        };
        return Some(RewriteBlocker::new(GuardId::PORT_RANGE, "port", message));
    }
    // The injector compares with the port of the mesh, not with that of an annotation.
    if number == context.pod_facts(&pod.workload).mesh_status_port().value {
        let message = format!("port {number} is the agent's own");
        return Some(RewriteBlocker::new(
            GuardId::STATUS_PORT_IN_USE,
            "port",
            message,
        ));
    }
    None
}

/// Returns whether the port is written. An omitted port is read as 0.
fn is_written(prediction: &HandlerPrediction<'_>) -> bool {
    let handler = &prediction.handler;
    let key = handler.action.as_ref().map_or("", ProbeHandler::key);
    let port = handler.node.get(key).and_then(|node| node.get("port"));
    port.is_some_and(|port| !port.is_null())
}

fn action_blocker(action: &ProbeHandler) -> Option<RewriteBlocker> {
    if let Some(host) = action.host() {
        let message = match action {
            ProbeHandler::HttpGet(_) => {
                format!("the kubelet would send the request for the agent to host `{host}`")
            }
            _ => format!("the agent would check the pod itself instead of host `{host}`"),
        };
        return Some(RewriteBlocker::new(GuardId::PROBE_HOST, "host", message));
    }
    let ProbeHandler::HttpGet(http) = action else {
        return match action {
            ProbeHandler::Grpc { service, .. } => text_blocker("service", service),
            _ => None,
        };
    };
    if !matches!(http.scheme.as_str(), "HTTP" | "HTTPS") {
        let message = format!("the API server refuses the scheme `{}`", http.scheme);
        return Some(RewriteBlocker::new(
            GuardId::INVALID_HANDLER,
            "scheme",
            message,
        ));
    }
    if let Some(misread) = PathMisread::of(&http.path) {
        let message = misread.to_string();
        return Some(RewriteBlocker::new(GuardId::PROBE_PATH, "path", message));
    }
    let headers = http.headers.iter().flat_map(|(name, value)| [name, value]);
    text_blocker("path", &http.path).or_else(|| {
        headers
            .into_iter()
            .find_map(|text| text_blocker("httpHeaders", text))
    })
}

/// Returns the first field of a handler that the prober env cannot record.
#[must_use]
pub fn unrecorded_field(handler: &Probe<'_>) -> Option<String> {
    let action = handler.action.as_ref().ok()?;
    let recorded: &[&str] = match action {
        ProbeHandler::HttpGet(_) => &["path", "port", "host", "scheme", "httpHeaders"],
        ProbeHandler::TcpSocket { .. } => &["port", "host"],
        ProbeHandler::Grpc { .. } => &["port", "service"],
        ProbeHandler::Exec | ProbeHandler::Sleep | ProbeHandler::Missing => return None,
    };
    handler
        .node
        .get(action.key())?
        .effective_entries()
        .into_iter()
        .map(|entry| entry.key.text().unwrap_or_default())
        .find(|name| !recorded.contains(name))
        .map(str::to_owned)
}

fn field_blocker(
    prediction: &HandlerPrediction<'_>,
    action: &ProbeHandler,
) -> Option<RewriteBlocker> {
    let name = unrecorded_field(&prediction.handler)?;
    let message = format!("the prober env does not record `{}.{name}`", action.key());
    Some(RewriteBlocker::new(GuardId::UNRECORDED_FIELD, "", message))
}

fn text_blocker(field: &'static str, text: &str) -> Option<RewriteBlocker> {
    if text.contains("$(") || text.contains("$$") {
        let message = format!("the kubelet would expand `{text}` in the env, but not in the probe");
        return Some(RewriteBlocker::new(GuardId::ENV_REFERENCE, field, message));
    }
    if placeholder::contains(text) {
        let message = "a value is a placeholder";
        return Some(RewriteBlocker::new(GuardId::PLACEHOLDER, field, message));
    }
    None
}
