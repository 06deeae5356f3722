//! Handlers that the API server rejects although their fields have the right types.
//!
//! Numbers of a probe that the API server rejects.
//!
//! Names of containers and ports that the API server rejects.
//!
//! Fields of `httpGet`, `grpc`, `exec` and `sleep` that the API server rejects.

use meshprobe_tree::source::placeholder;
use meshprobe_yaml::NodeRef;

use super::container::{Container, ContainerList, integer};
use super::probe_handler::{Port, Probe, ProbeHandler, Slot};

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

/// Returns the first number of a probe that the API server rejects, with the reason. No number may be
/// negative. Liveness and startup probes require a `successThreshold` of 1, and only they may have a
/// grace period, of at least one second.
///
/// Source: Kubernetes 1.37.2, `pkg/apis/core/validation/validation.go` (`validateProbe`,
/// `validateLivenessProbe`, `validateReadinessProbe`, `validateStartupProbe`), after the defaults of
/// `SetDefaults_Probe`, which treat 0 as not set.
#[must_use]
pub fn refused_number<'t>(handler: &Probe<'t>) -> Option<(NodeRef<'t>, String)> {
    if handler.slot.is_lifecycle() {
        return None;
    }
    let number = |key: &str| {
        let node = handler.node.get(key)?;
        Some((node, integer(node)?))
    };
    for key in COUNTS {
        if let Some((node, number)) = number(key).filter(|(_, number)| *number < 0) {
            return Some((node, format!("`{key}: {number}` is negative")));
        }
    }
    let restarts = handler.slot != Slot::Readiness;
    let successes = number("successThreshold").filter(|(_, number)| restarts && *number > 1);
    if let Some((node, number)) = successes {
        let reason = format!(
            "`successThreshold: {number}` is not 1, which liveness and startup probes require"
        );
        return Some((node, reason));
    }
    let (node, grace) = number("terminationGracePeriodSeconds")?;
    if !restarts {
        let reason = "`terminationGracePeriodSeconds` is not allowed on a readiness probe";
        return Some((node, reason.to_owned()));
    }
    let reason = || format!("`terminationGracePeriodSeconds: {grace}` is less than 1");
    (grace < 1).then(|| (node, reason()))
}

/// Numbers of a probe that must not be negative.
const COUNTS: [&str; 5] = [
    "initialDelaySeconds",
    "timeoutSeconds",
    "periodSeconds",
    "successThreshold",
    "failureThreshold",
];

/// Returns whether a name is an RFC 1123 label, as the name of a container must be.
#[must_use]
pub fn is_dns_label(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !name.is_empty()
        && name.len() <= 63
        && name.bytes().all(plain)
        && !name.starts_with('-')
        && !name.ends_with('-')
}

/// Returns why the API server rejects the name of a container, as the end of a sentence; `None` if it accepts it, or if
/// the name contains a placeholder.
///
/// Source: Kubernetes 1.37.2, `pkg/apis/core/validation/validation.go` (`validateContainerCommon`).
#[must_use]
pub fn refused_container_name(container: &Container<'_>) -> Option<String> {
    let name = container.node.get("name").filter(|name| !name.is_null());
    let is_filled_in = |name: NodeRef<'_>| {
        placeholder::contains(name.source()) || name.text().is_some_and(placeholder::contains)
    };
    if name.is_some_and(is_filled_in) {
        return None;
    }
    match (name, name.and_then(NodeRef::as_str)) {
        (None, _) | (_, Some("")) if container.revision.is_some() => None,
        (None, _) | (_, Some("")) => Some("the container has no name".to_owned()),
        (_, Some(name)) if is_dns_label(name) => None,
        (_, Some(name)) => Some(format!("the container name `{name}` is not a DNS label")),
        (Some(name), None) => Some(match name.text() {
            Some(text) => format!("the container name `{text}` is not a string"),
            None => "the container name is not a string".to_owned(),
        }),
    }
}

/// Returns why the API server rejects a port name, as the end of a sentence; `None` if it accepts it. Names of digits
/// are numbers in quotes, which have a rule of their own.
///
/// Source: Kubernetes 1.37.2, `pkg/apis/core/validation/validation.go` (`ValidatePortNumOrName`), and
/// `IsValidPortName` in `k8s.io/apimachinery/pkg/util/validation`.
pub(super) fn refused_port_name(name: &str) -> Option<String> {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let reason = if name.is_empty() {
        return Some("the port is an empty string".to_owned());
    } else if name.len() > 15 {
        "is longer than 15 characters"
    } else if !name.bytes().all(plain) {
        "contains other characters than lower-case letters, digits and `-`"
    } else if !name.bytes().any(|byte| byte.is_ascii_lowercase()) {
        "does not contain a letter"
    } else if name.starts_with('-') || name.ends_with('-') || name.contains("--") {
        "has a `-` at its start, at its end, or next to another `-`"
    } else {
        return None;
    };
    Some(format!("port name `{name}` {reason}"))
}

/// Returns a field of a handler that the API server rejects, with the reason; `None` if it accepts all fields but the
/// port.
pub(super) fn refused_field(
    container: &Container<'_>,
    handler: &Probe<'_>,
    action: &ProbeHandler,
) -> Option<(&'static str, String)> {
    let node = handler.node.get(action.key())?;
    match action {
        ProbeHandler::HttpGet(http) => refused_scheme(&http.scheme)
            .or_else(|| refused_header(node))
            .or_else(|| refused_type(node, "protocol")),
        ProbeHandler::Grpc { .. } => refused_type(node, "mode"),
        ProbeHandler::Exec => {
            let command = node.get("command");
            let is_empty = command.is_none_or(|command| command.items().next().is_none());
            is_empty.then(|| ("command", "it has no command".to_owned()))
        }
        ProbeHandler::Sleep => refused_seconds(container, node),
        ProbeHandler::TcpSocket { .. } | ProbeHandler::Missing => None,
    }
}

/// Source: Kubernetes 1.37.2, `pkg/apis/core/validation/validation.go` (`validateHTTPGetAction`).
fn refused_scheme(scheme: &str) -> Option<(&'static str, String)> {
    let is_scheme = matches!(scheme, "HTTP" | "HTTPS") || placeholder::contains(scheme);
    let reason = || format!("the scheme `{scheme}` is neither HTTP nor HTTPS");
    (!is_scheme).then(|| ("scheme", reason()))
}

/// Source: Kubernetes 1.37.2, `IsHTTPHeaderName` in `k8s.io/apimachinery/pkg/util/validation`.
fn refused_header(http: NodeRef<'_>) -> Option<(&'static str, String)> {
    let headers = http.get("httpHeaders");
    let mut headers = headers.into_iter().flat_map(NodeRef::items);
    let reason = headers.find_map(|header| {
        let name = header
            .get("name")
            .and_then(NodeRef::text)
            .unwrap_or_default();
        let is_name =
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
        (!is_name && !placeholder::contains(name))
            .then(|| format!("the header name `{name}` is not one or more letters, digits and `-`"))
    })?;
    Some(("httpHeaders", reason))
}

/// Returns a field that must be a string. Releases before 1.37 do not know it, so they do not decode it. By default the
/// API server ignores the value of a string, because a feature gate of 1.37 enables the field.
///
/// Source: Kubernetes 1.37.2, `HTTPGetAction.Protocol` and `GRPCAction.Mode` in `k8s.io/api/core/v1`;
/// `H2CContainerProbe` and `GRPCContainerProbeTLS` in `pkg/features/kube_features.go`.
fn refused_type(node: NodeRef<'_>, field: &'static str) -> Option<(&'static str, String)> {
    let value = node.get(field).filter(|value| !value.is_null())?;
    if value.as_str().is_some() || placeholder::contains(value.source()) {
        return None;
    }
    let reason = format!("`{field}` is not a string, which Kubernetes requires since 1.37");
    Some((field, reason))
}

/// Returns the seconds of a `sleep` outside the grace period of the pod. 0 is accepted since 1.33.
///
/// Source: Kubernetes 1.37.2, `pkg/apis/core/validation/validation.go` (`validateSleepAction`); for 0,
/// `PodLifecycleSleepActionAllowZero` in `pkg/features/kube_features.go` of 1.33 to 1.36.
fn refused_seconds(
    container: &Container<'_>,
    sleep: NodeRef<'_>,
) -> Option<(&'static str, String)> {
    let seconds = sleep.get("seconds").and_then(integer)?;
    let grace = container.grace_period_seconds()?;
    let reason = if seconds < 0 {
        format!("`seconds: {seconds}` is negative")
    } else if seconds > grace {
        format!("`seconds: {seconds}` is more than the grace period of the pod ({grace} seconds)")
    } else {
        return None;
    };
    Some(("seconds", reason))
}
