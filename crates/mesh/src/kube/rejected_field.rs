//! Fields of `httpGet`, `grpc`, `exec` and `sleep` that the API server rejects.

use meshprobe_tree::source::placeholder;
use meshprobe_yaml::NodeRef;

use super::handler::Probe;
use super::probe_handler::ProbeHandler;
use crate::kube::container::Container;
use crate::kube::integer::integer;

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
