//! Handlers that the API server rejects although their fields have the right types.

use meshprobe_tree::source::placeholder;

use super::handler::Probe;
use super::probe_handler::{Port, ProbeHandler};
use super::rejected_field::refused_field;
use super::rejected_name::{refused_container_name, refused_port_name};
use super::rejected_number::refused_number;
use crate::kube::container::{Container, ContainerList};

/// Kind of error for which the API server rejects a handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RejectionKind {
    /// The name of the container is not a string, or not a DNS label.
    ContainerName,
    /// More than one handler is set.
    TwoHandlers,
    /// The port is not between 1 and 65535.
    PortRange,
    /// Any other error of a field or its position.
    Field,
}

/// Reason why the API server rejects a handler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiRejection {
    /// The kind of the error.
    pub kind: RejectionKind,
    /// The field of the handler that a finding points at; empty for the handler itself.
    pub field: &'static str,
    /// The reason, as the end of a sentence.
    pub reason: String,
}

impl ApiRejection {
    fn new(kind: RejectionKind, field: &'static str, reason: impl Into<String>) -> Self {
        Self {
            kind,
            field,
            reason: reason.into(),
        }
    }
}

/// Returns the reason why the API server rejects `handler`, or `None` if it accepts it. Ignores
/// placeholders and undeclared port names.
///
/// Source: Kubernetes 1.37.2, `pkg/apis/core/validation/validation.go` (`validateHandler`,
/// `validateHTTPGetAction`, `validateInitContainers`, `validateEphemeralContainers`), compared with its code by
/// `tests/oracle/kubernetes.sh`.
#[must_use]
pub fn api_rejection(container: &Container<'_>, handler: &Probe<'_>) -> Option<ApiRejection> {
    let action = handler.action.as_ref().ok()?;
    let of_field = |field, reason| ApiRejection::new(RejectionKind::Field, field, reason);
    if let Some(reason) = refused_container_name(container) {
        return Some(ApiRejection::new(RejectionKind::ContainerName, "", reason));
    }
    if let Some(reason) = refused_container(container) {
        return Some(of_field("", reason.to_owned()));
    }
    if handler.written == 0 {
        return Some(of_field("", missing_handler(handler)));
    }
    if handler.written > 1 {
        let reason = "it has more than one handler";
        return Some(ApiRejection::new(RejectionKind::TwoHandlers, "", reason));
    }
    if let Some((_, reason)) = refused_number(handler) {
        return Some(of_field("", reason));
    }
    refused_field(container, handler, action)
        .map(|(field, reason)| of_field(field, reason))
        .or_else(|| refused_port(container, handler, action))
}

/// Returns why containers like this one cannot have any probes or hooks; `None` if they can.
fn refused_container(container: &Container<'_>) -> Option<&'static str> {
    match container.list {
        ContainerList::Ephemeral => Some("an ephemeral container cannot have probes or hooks"),
        ContainerList::Init if !container.is_native_sidecar() => {
            Some("an init container without `restartPolicy: Always` cannot have probes or hooks")
        }
        ContainerList::Init | ContainerList::Main => None,
    }
}

/// Returns why the API server rejects the port of a handler; `None` if it accepts it.
///
/// Source: Kubernetes 1.37.2, `pkg/apis/core/validation/validation.go` (`ValidatePortNumOrName`,
/// `validateContainerPorts`).
fn refused_port(
    container: &Container<'_>,
    handler: &Probe<'_>,
    action: &ProbeHandler,
) -> Option<ApiRejection> {
    let is_port = |number: &i64| (1..=65535).contains(number);
    let of_field = |reason| ApiRejection::new(RejectionKind::Field, "port", reason);
    let of_range = |reason| ApiRejection::new(RejectionKind::PortRange, "port", reason);
    match action.port()? {
        Port::Number(number) if !is_port(&number) => {
            let action = handler.node.get(action.key());
            Some(match action.and_then(|node| node.get("port")) {
                Some(_) => of_range(format!("port {number} is not between 1 and 65535")),
                None => of_field("it has no port".to_owned()),
            })
        }
        Port::Number(_) => None,
        Port::Name(name) if placeholder::contains(&name) || is_digits(&name) => None,
        Port::Name(name) => {
            if let Some(reason) = refused_port_name(&name) {
                return Some(of_field(reason));
            }
            let mut declared = container
                .ports()
                .filter(|port| port.name == Some(name.as_str()));
            let first = declared.next()?;
            if declared.next().is_some() {
                let reason = format!("the container declares port `{name}` more than once");
                return Some(of_field(reason));
            }
            let number = first.number.filter(|number| !is_port(number))?;
            let reason = format!("port `{name}` is {number}, which is not between 1 and 65535");
            Some(of_range(reason))
        }
    }
}

/// Returns whether a port name is a number in quotes, which rule `probe-port-quoted-number` reports.
fn is_digits(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns the reason for a probe or hook without a handler. Names a handler of the other kind, and suggests the handler
/// whose name differs from a key only in case.
fn missing_handler(handler: &Probe<'_>) -> String {
    let kinds = handler.slot.handler_keys();
    let entries = handler.node.effective_entries();
    let is_set = |key: &str| handler.node.get(key).is_some_and(|node| !node.is_null());
    if handler.slot.is_lifecycle() && is_set("grpc") {
        return "it has no handler: a hook cannot have `grpc`".to_owned();
    }
    if !handler.slot.is_lifecycle() && is_set("sleep") {
        return "it has no handler: a probe cannot have `sleep`".to_owned();
    }
    let misspelled = entries
        .iter()
        .filter_map(|entry| entry.key.text())
        .find_map(|key| {
            kinds
                .iter()
                .find(|kind| kind.eq_ignore_ascii_case(key))
                .map(|kind| (key, kind))
        });
    match misspelled {
        Some((key, kind)) => format!("it has no handler: `{key}` should be `{kind}`"),
        None => "it has no handler".to_owned(),
    }
}
