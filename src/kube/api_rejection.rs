//! Handlers that the API server rejects although their fields have the right types.

use crate::yaml::NodeRef;

use super::handler::{Port, Probe, ProbeHandler};
use crate::kube::container::{Container, ContainerList};
use crate::kube::integer::integer;
use crate::kube::slot::Slot;

/// Kind of error for which the API server rejects a handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RejectionKind {
    /// The name of the container is not a DNS label.
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
/// Source: Kubernetes 1.33, `pkg/apis/core/validation/validation.go` (`validateHandler`,
/// `validateHTTPGetAction`, `ValidatePortNumOrName`, `validateInitContainers`,
/// `validateContainerCommon`).
#[must_use]
pub fn api_rejection(container: &Container<'_>, handler: &Probe<'_>) -> Option<ApiRejection> {
    let action = handler.action.as_ref().ok()?;
    let name = container.name();
    if !is_dns_label(name) && !crate::source::placeholder::contains(name) {
        let reason = format!("the container name `{name}` is not a DNS label");
        return Some(ApiRejection::new(RejectionKind::ContainerName, "", reason));
    }
    if handler.written == 0 {
        return Some(ApiRejection::new(
            RejectionKind::Field,
            "",
            missing_handler(handler),
        ));
    }
    if handler.written > 1 {
        let reason = "it has more than one handler";
        return Some(ApiRejection::new(RejectionKind::TwoHandlers, "", reason));
    }
    if container.list == ContainerList::Init && !container.is_native_sidecar() {
        let reason =
            "an init container without `restartPolicy: Always` cannot have probes or hooks";
        return Some(ApiRejection::new(RejectionKind::Field, "", reason));
    }
    if let Some((_, reason)) = refused_number(handler) {
        return Some(ApiRejection::new(RejectionKind::Field, "", reason));
    }
    if let ProbeHandler::HttpGet(http) = action
        && !matches!(http.scheme.as_str(), "HTTP" | "HTTPS")
        && !crate::source::placeholder::contains(&http.scheme)
    {
        let reason = format!("the scheme `{}` is neither HTTP nor HTTPS", http.scheme);
        return Some(ApiRejection::new(RejectionKind::Field, "scheme", reason));
    }
    if let Some((field, reason)) = refused_field(handler, action) {
        return Some(ApiRejection::new(RejectionKind::Field, field, reason));
    }
    let is_port = |number: &i64| (1..=65535).contains(number);
    match action.port()? {
        Port::Number(number) if !is_port(&number) => {
            let written = handler
                .node
                .get(action.key())
                .and_then(|node| node.get("port"));
            Some(match written {
                Some(_) => {
                    let reason = format!("port {number} is not between 1 and 65535");
                    ApiRejection::new(RejectionKind::PortRange, "port", reason)
                }
                None => ApiRejection::new(RejectionKind::Field, "port", "it has no port"),
            })
        }
        Port::Number(_) => None,
        Port::Name(name) => {
            let declared = container
                .ports()
                .filter(|port| port.name == Some(name.as_str()))
                .last()?;
            let number = declared.number.filter(|number| !is_port(number))?;
            let reason = format!("port `{name}` is {number}, which is not between 1 and 65535");
            Some(ApiRejection::new(RejectionKind::PortRange, "port", reason))
        }
    }
}

/// Returns the field of an `exec` or `httpGet` that the API server rejects, with the reason.
///
/// Source: measured with Kubernetes 1.33.13 and 1.37.2 (`tests/oracle/kubernetes.sh`); `validateExecAction` and
/// `IsHTTPHeaderName` in the code of Kubernetes.
fn refused_field(handler: &Probe<'_>, action: &ProbeHandler) -> Option<(&'static str, String)> {
    let node = handler.node.get(action.key());
    match action {
        ProbeHandler::Exec => {
            let command = node.and_then(|exec| exec.get("command"));
            let is_empty = command.is_none_or(|command| command.items().next().is_none());
            is_empty.then(|| ("command", "it has no command".to_owned()))
        }
        ProbeHandler::HttpGet(_) => {
            let headers = node.and_then(|http| http.get("httpHeaders"));
            let mut headers = headers.into_iter().flat_map(NodeRef::items);
            let reason = headers.find_map(|header| {
                let name = header
                    .get("name")
                    .and_then(NodeRef::text)
                    .unwrap_or_default();
                let is_name =
                    !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
                (!is_name && !crate::source::placeholder::contains(name)).then(|| {
                    format!("the header name `{name}` is not one or more letters, digits and `-`")
                })
            })?;
            Some(("httpHeaders", reason))
        }
        _ => None,
    }
}

/// Returns the first number of a probe that the API server rejects, with the reason. No number may be
/// negative. Liveness and startup probes require a `successThreshold` of 1, and only they may have a
/// grace period, of at least one second.
///
/// Source: Kubernetes 1.33, `pkg/apis/core/validation/validation.go` (`validateProbe`,
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

/// Returns the reason for a probe without a handler. Suggests the handler whose name differs from a key only in case.
fn missing_handler(handler: &Probe<'_>) -> String {
    let kinds = ["httpGet", "tcpSocket", "grpc", "exec"];
    let entries = handler.node.effective_entries();
    let misspelled = entries
        .iter()
        .filter_map(|entry| entry.key.text())
        .find_map(|key| {
            kinds
                .into_iter()
                .find(|kind| kind.eq_ignore_ascii_case(key))
                .map(|kind| (key, kind))
        });
    match misspelled {
        Some((key, kind)) => format!("it has no handler: `{key}` should be `{kind}`"),
        None => "it has no handler".to_owned(),
    }
}
