//! Why pointing a handler at the agent would not keep its meaning.

use crate::context::Context;
use crate::kube::{Action, Handler, Port, Unreadable, is_dns_label, refused_number};
use crate::source::placeholder;

use super::{Cause, HandlerPrediction, WorkloadPrediction, verdict};

/// A reason not to point a handler at the agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hazard {
    /// The public id of the guard.
    pub guard: &'static str,
    /// What would happen, in one sentence.
    pub message: String,
    /// The field of the handler to point at (`port`, `host` …); empty for the handler itself.
    pub field: &'static str,
}

impl Hazard {
    fn new(guard: &'static str, field: &'static str, message: impl Into<String>) -> Self {
        Self {
            guard,
            message: message.into(),
            field,
        }
    }
}

/// Returns the hazards of a handler that goes over the network, the gravest first; none for all
/// others and for those that can be rewritten.
///
/// Sources: `app_probe.go` (what is recorded), `status/server.go` (what the agent accepts), both
/// of Istio 1.31, and the validation of the Kubernetes API.
#[must_use]
pub fn hazards(
    context: &Context<'_>,
    pod: &WorkloadPrediction<'_>,
    prediction: &HandlerPrediction<'_>,
) -> Vec<Hazard> {
    let handler = &prediction.handler;
    let action = match &handler.action {
        Ok(action) => action,
        Err(fault) => return vec![unreadable(fault)],
    };
    let Some(port) = action.port() else {
        return Vec::new();
    };
    if handler.written > 1 {
        let said = "two handlers are written, the API server allows one";
        return vec![Hazard::new("two-handlers", "", said)];
    }
    let all = [
        container_hazard(pod, prediction),
        number_hazard(prediction),
        port_hazard(context, pod, prediction, &port),
        action_hazard(action),
        field_hazard(prediction, action),
    ];
    all.into_iter().flatten().collect()
}

/// Returns the first of the [`hazards`] of a handler.
#[must_use]
pub fn hazard(
    context: &Context<'_>,
    pod: &WorkloadPrediction<'_>,
    prediction: &HandlerPrediction<'_>,
) -> Option<Hazard> {
    hazards(context, pod, prediction).into_iter().next()
}

fn unreadable(fault: &Unreadable) -> Hazard {
    let error = match fault {
        Unreadable::Placeholder(_) => {
            let said = "a value is a placeholder that another tool fills in";
            return Hazard::new("placeholder", "", said);
        }
        Unreadable::Malformed(error) => error,
    };
    let guard = if error.message.contains("32-bit") {
        "port-range"
    } else {
        "invalid-handler"
    };
    let said = format!("the API server would refuse it: {}", error.message);
    Hazard::new(guard, "", said)
}

fn container_hazard(
    pod: &WorkloadPrediction<'_>,
    prediction: &HandlerPrediction<'_>,
) -> Option<Hazard> {
    let name = prediction.container.name();
    if placeholder::contains(name) {
        let said = "the container's name is a placeholder that another tool fills in";
        return Some(Hazard::new("placeholder", "", said));
    }
    if !is_dns_label(name) {
        let said = format!("the agent can't serve a container named `{name}`");
        return Some(Hazard::new("container-name", "", said));
    }
    if pod.workload.template.index().is_shared_name(name) {
        let said = format!("two containers are named `{name}` and would share one prober");
        return Some(Hazard::new("duplicate-container-name", "", said));
    }
    let is_plain_init = prediction.container.list == crate::kube::ContainerList::Init
        && !prediction.container.is_native_sidecar();
    if is_plain_init {
        let said = "the API server refuses probes and hooks on an init container that ends";
        return Some(Hazard::new("invalid-handler", "", said));
    }
    None
}

fn number_hazard(prediction: &HandlerPrediction<'_>) -> Option<Hazard> {
    let (_, said) = refused_number(&prediction.handler)?;
    let said = format!("the API server would refuse it: {said}");
    Some(Hazard::new("invalid-handler", "", said))
}

fn port_hazard(
    context: &Context<'_>,
    pod: &WorkloadPrediction<'_>,
    prediction: &HandlerPrediction<'_>,
    port: &Port,
) -> Option<Hazard> {
    if let Port::Name(name) = port
        && placeholder::contains(name)
    {
        let said = "the port is a placeholder that another tool fills in";
        return Some(Hazard::new("placeholder", "port", said));
    }
    let number = match verdict::resolve(port, &prediction.container, &pod.workload) {
        Ok(number) => number,
        Err(cause) => {
            let said = match cause {
                Cause::Placeholder => {
                    let said = format!("the number of port `{port}` is filled in by another tool");
                    return Some(Hazard::new("placeholder", "port", said));
                }
                Cause::PortQuoted => {
                    format!("port `{port}` is a string, so the injector takes it for a name")
                }
                Cause::PortOfOtherContainer => {
                    format!("port name `{port}` is declared in another container only")
                }
                _ => format!("port name `{port}` is declared nowhere in the container"),
            };
            return Some(Hazard::new("port-unresolved", "port", said));
        }
    };
    if !(1..=65535).contains(&number) {
        let said = if is_written(prediction) {
            format!("{number} is not a port")
        } else {
            "it names no port".to_owned()
        };
        return Some(Hazard::new("port-range", "port", said));
    }
    // The injector compares with the port of the mesh, not with that of an annotation.
    if number == context.mesh_status_port(&pod.workload).value {
        let said = format!("port {number} is the agent's own");
        return Some(Hazard::new("status-port-in-use", "port", said));
    }
    None
}

/// A port that is left out reads as 0.
fn is_written(prediction: &HandlerPrediction<'_>) -> bool {
    let handler = &prediction.handler;
    let key = handler.action.as_ref().map_or("", Action::key);
    let port = handler.node.get(key).and_then(|node| node.get("port"));
    port.is_some_and(|port| !port.is_null())
}

fn action_hazard(action: &Action) -> Option<Hazard> {
    if let Some(host) = action.host() {
        let said = match action {
            Action::HttpGet(_) => format!("the kubelet would ask host `{host}` for the agent"),
            _ => format!("the pod itself would be tested in place of host `{host}`"),
        };
        return Some(Hazard::new("probe-host", "host", said));
    }
    let Action::HttpGet(http) = action else {
        return match action {
            Action::Grpc { service, .. } => text_hazard("service", service),
            _ => None,
        };
    };
    if !matches!(http.scheme.as_str(), "HTTP" | "HTTPS") {
        let said = format!("the API server refuses the scheme `{}`", http.scheme);
        return Some(Hazard::new("invalid-handler", "scheme", said));
    }
    if let Some(fault) = path_fault(&http.path) {
        return Some(Hazard::new("probe-path", "path", fault));
    }
    let headers = http.headers.iter().flat_map(|(name, value)| [name, value]);
    text_hazard("path", &http.path).or_else(|| {
        headers
            .into_iter()
            .find_map(|text| text_hazard("httpHeaders", text))
    })
}

/// Returns the first field of what a handler does that the prober env cannot record.
#[must_use]
pub fn unrecorded_field(handler: &Handler<'_>) -> Option<String> {
    let action = handler.action.as_ref().ok()?;
    let recorded: &[&str] = match action {
        Action::HttpGet(_) => &["path", "port", "host", "scheme", "httpHeaders"],
        Action::TcpSocket { .. } => &["port", "host"],
        Action::Grpc { .. } => &["port", "service"],
        Action::Exec | Action::Sleep | Action::Missing => return None,
    };
    let entries = handler.node.get(action.key())?.effective_entries();
    entries
        .into_iter()
        .map(|entry| entry.key.text().unwrap_or_default())
        .find(|name| !recorded.contains(name))
        .map(str::to_owned)
}

fn field_hazard(prediction: &HandlerPrediction<'_>, action: &Action) -> Option<Hazard> {
    let name = unrecorded_field(&prediction.handler)?;
    let message = format!("the prober env does not record `{}.{name}`", action.key());
    Some(Hazard::new("unrecorded-field", "", message))
}

/// A whole URL: `scheme://` in front.
pub(super) fn is_url(path: &str) -> bool {
    let scheme = path.split_once("://").map_or("", |(scheme, _)| scheme);
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    scheme.starts_with(|c: char| c.is_ascii_alphabetic()) && scheme.bytes().all(plain)
}

/// The kubelet and the agent read such paths differently.
pub(super) fn path_fault(path: &str) -> Option<String> {
    if is_url(path) {
        return Some(format!(
            "path `{path}` is a URL: the agent would ask for `/{path}`"
        ));
    }
    let escapes = path.split('%').skip(1);
    let broken = escapes.into_iter().any(|rest| {
        let mut digits = rest.bytes();
        let hex = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_hexdigit());
        !(hex(digits.next()) && hex(digits.next()))
    });
    broken.then(|| format!("path `{path}` has a `%` that no two hex digits follow"))
}

fn text_hazard(field: &'static str, text: &str) -> Option<Hazard> {
    if text.contains("$(") || text.contains("$$") {
        let said = format!("the kubelet would expand `{text}` in the env, but not in the probe");
        return Some(Hazard::new("env-reference", field, said));
    }
    if placeholder::contains(text) {
        let said = "a value is a placeholder that another tool fills in";
        return Some(Hazard::new("placeholder", field, said));
    }
    None
}
