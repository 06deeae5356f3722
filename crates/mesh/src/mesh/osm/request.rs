//! The request of a handler.

use crate::kube::ProbeHandler;
use crate::mesh::model::{HandlerRef, port_of};

use super::keys::{HEALTHCHECK_PORT, TCP_PORT_HEADER, is_own_path};

/// Returns the action of a handler that uses the network, with its port.
pub(super) fn network_action<'a>(handler: &'a HandlerRef<'_>) -> Option<(&'a ProbeHandler, i64)> {
    let action = handler.1.action.as_ref().ok()?;
    action.port()?;
    Some((action, port_of(handler).unwrap_or(0)))
}

/// Returns whether a handler targets the proxy on one of its paths.
pub(super) fn points_at_proxy(action: &ProbeHandler, port: i64) -> bool {
    let own = (15901..=HEALTHCHECK_PORT).contains(&port);
    own && matches!(action, ProbeHandler::HttpGet(http) if is_own_path(&http.path))
}

/// Returns whether the probe has the header with the port for the helper to check.
pub(super) fn names_port_in_header(action: &ProbeHandler) -> bool {
    let names_port = |(name, value): &(String, String)| {
        name.eq_ignore_ascii_case(TCP_PORT_HEADER) && value.parse::<u16>().is_ok_and(|p| p > 0)
    };
    matches!(action, ProbeHandler::HttpGet(http) if http.headers.iter().any(names_port))
}
