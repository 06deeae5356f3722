//! Handlers that the API server refuses although their fields have the right types.

use crate::yaml::NodeRef;

use super::handler::{Action, Handler, Port, Slot, integer};
use super::workload::{Container, ContainerList};

/// What the API server objects to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Objection {
    /// The name of the container is no DNS label.
    ContainerName,
    /// More than one handler is written.
    TwoHandlers,
    /// The port is not between 1 and 65535.
    PortRange,
    /// Anything else about a field or its place.
    Field,
}

/// Why the API server refuses a handler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What it objects to.
    pub objection: Objection,
    /// The field of the handler to point at; empty for the handler itself.
    pub field: &'static str,
    /// The reason, as the end of a sentence.
    pub reason: String,
}

impl Refusal {
    fn new(objection: Objection, field: &'static str, reason: impl Into<String>) -> Self {
        Self {
            objection,
            field,
            reason: reason.into(),
        }
    }
}

/// Returns why the API server refuses `handler`; `None` where it takes it. Placeholders and port
/// names that are not declared are not looked at.
///
/// Source: Kubernetes 1.33, `pkg/apis/core/validation/validation.go` (`validateHandler`,
/// `validateHTTPGetAction`, `ValidatePortNumOrName`, `validateInitContainers`,
/// `validateContainerCommon`).
#[must_use]
pub fn refused_by_api(container: &Container<'_>, handler: &Handler<'_>) -> Option<Refusal> {
    let action = handler.action.as_ref().ok()?;
    let name = container.name();
    if !is_dns_label(name) && !crate::source::placeholder::contains(name) {
        let said = "the name of the container is no DNS label";
        return Some(Refusal::new(Objection::ContainerName, "", said));
    }
    if handler.written == 0 {
        return Some(Refusal::new(Objection::Field, "", missing(handler)));
    }
    if handler.written > 1 {
        let said = "more than one handler is written";
        return Some(Refusal::new(Objection::TwoHandlers, "", said));
    }
    if container.list == ContainerList::Init && !container.is_native_sidecar() {
        let said = "an init container that ends may have no probes and hooks";
        return Some(Refusal::new(Objection::Field, "", said));
    }
    if let Some((_, said)) = refused_number(handler) {
        return Some(Refusal::new(Objection::Field, "", said));
    }
    if let Action::HttpGet(http) = action
        && !matches!(http.scheme.as_str(), "HTTP" | "HTTPS")
        && !crate::source::placeholder::contains(&http.scheme)
    {
        let said = format!("the scheme `{}` is neither HTTP nor HTTPS", http.scheme);
        return Some(Refusal::new(Objection::Field, "scheme", said));
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
                    let said = format!("port {number} is not between 1 and 65535");
                    Refusal::new(Objection::PortRange, "port", said)
                }
                None => Refusal::new(Objection::Field, "port", "it has no port"),
            })
        }
        Port::Number(_) => None,
        Port::Name(name) => {
            let declared = container
                .ports()
                .filter(|port| port.name == Some(name.as_str()))
                .last()?;
            let number = declared.number.filter(|number| !is_port(number))?;
            let said = format!("port `{name}` is {number}, which is not between 1 and 65535");
            Some(Refusal::new(Objection::PortRange, "port", said))
        }
    }
}

/// Returns the first number of a probe that the API server refuses, and why: none may be negative,
/// a probe that restarts the container passes with its first success, and only such a probe has a
/// grace period, of a second at least.
///
/// Source: Kubernetes 1.33, `pkg/apis/core/validation/validation.go` (`validateProbe`,
/// `validateLivenessProbe`, `validateReadinessProbe`, `validateStartupProbe`), after the defaults of
/// `SetDefaults_Probe`, which take 0 for nothing.
#[must_use]
pub fn refused_number<'t>(handler: &Handler<'t>) -> Option<(NodeRef<'t>, String)> {
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
        let said = format!("`successThreshold: {number}` is not 1, as a probe that restarts wants");
        return Some((node, said));
    }
    let (node, grace) = number("terminationGracePeriodSeconds")?;
    if !restarts {
        let said = "a readiness probe has no `terminationGracePeriodSeconds`";
        return Some((node, said.to_owned()));
    }
    let said = || format!("`terminationGracePeriodSeconds: {grace}` is less than 1");
    (grace < 1).then(|| (node, said()))
}

/// The numbers of a probe that may not be negative.
const COUNTS: [&str; 5] = [
    "initialDelaySeconds",
    "timeoutSeconds",
    "periodSeconds",
    "successThreshold",
    "failureThreshold",
];

/// Tells whether a name is an RFC 1123 label, as those of containers must be.
#[must_use]
pub fn is_dns_label(name: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !name.is_empty()
        && name.len() <= 63
        && name.bytes().all(plain)
        && !name.starts_with('-')
        && !name.ends_with('-')
}

/// A key that is nearly the name of a handler is likely meant to be one.
fn missing(handler: &Handler<'_>) -> String {
    let kinds = ["httpGet", "tcpSocket", "grpc", "exec"];
    let entries = handler.node.effective_entries();
    let keys = entries.iter().filter_map(|entry| entry.key.text());
    let meant = keys.filter_map(|key| {
        let same = |kind: &&str| kind.eq_ignore_ascii_case(key);
        kinds
            .into_iter()
            .find(|kind| same(kind))
            .map(|kind| (key, kind))
    });
    match meant.into_iter().next() {
        Some((key, kind)) => format!("it has no handler: `{key}` should be `{kind}`"),
        None => "it has no handler".to_owned(),
    }
}
