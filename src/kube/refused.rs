//! Handlers that the API server refuses although their fields have the right types.

use super::handler::{Action, Handler, Port};
use super::workload::{Container, ContainerList};

/// Returns why the API server refuses `handler`, and the field to point at (empty for the handler
/// itself); `None` where it takes it. Placeholders and port names are not looked at.
///
/// Source: Kubernetes 1.33, `pkg/apis/core/validation/validation.go` (`validateHandler`,
/// `validateHTTPGetAction`, `ValidatePortNumOrName`, `validateInitContainers`).
#[must_use]
pub fn refused_by_api(
    container: &Container<'_>,
    handler: &Handler<'_>,
) -> Option<(&'static str, String)> {
    let action = handler.action.as_ref().ok()?;
    if handler.written == 0 {
        return Some(("", missing(handler)));
    }
    if handler.written > 1 {
        return Some(("", "more than one handler is written".to_owned()));
    }
    if container.list == ContainerList::Init && !container.is_native_sidecar() {
        let said = "an init container that ends may have no probes and hooks";
        return Some(("", said.to_owned()));
    }
    if let Action::HttpGet(http) = action
        && !matches!(http.scheme.as_str(), "HTTP" | "HTTPS")
        && !crate::source::placeholder::contains(&http.scheme)
    {
        return Some((
            "scheme",
            format!("the scheme `{}` is neither HTTP nor HTTPS", http.scheme),
        ));
    }
    match action.port() {
        Some(Port::Number(number)) if !(1..=65535).contains(&number) => {
            let written = handler
                .node
                .get(action.key())
                .and_then(|node| node.get("port"));
            let said = match written {
                Some(_) => format!("{number} is not a port"),
                None => "it has no port".to_owned(),
            };
            Some(("port", said))
        }
        _ => None,
    }
}

/// A key that is nearly the name of a handler is likely meant to be one.
fn missing(handler: &Handler<'_>) -> String {
    let kinds = ["httpGet", "tcpSocket", "grpc", "exec"];
    let keys = handler.node.entries().filter_map(|entry| entry.key.text());
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
