//! Names of containers and ports that the API server rejects.

use meshprobe_tree::source::placeholder;
use meshprobe_yaml::NodeRef;

use crate::kube::container::Container;

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
