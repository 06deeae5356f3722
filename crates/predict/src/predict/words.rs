//! The words for a handler that `check` and `predict` have in common.

use meshprobe_mesh::kube::{Port, Probe, ProbeHandler};
use meshprobe_mesh::mesh::model::Target;
use meshprobe_tree::source::placeholder;
use meshprobe_yaml::NodeRef;

/// Returns the name of a handler: "readinessProbe of container `web`".
#[must_use]
pub fn handler_title(slot: &str, container: &str) -> String {
    format!("{slot} of container `{container}`")
}

/// Returns a port as it is written. A number that is a string is in quotes, because it is the name of a port.
#[must_use]
pub fn port_text(port: &Port) -> String {
    match port {
        Port::Number(number) => number.to_string(),
        Port::Name(name) if is_quoted_number(name) => format!("\"{name}\""),
        Port::Name(name) => name.clone(),
    }
}

/// Returns the port of a check of virtual machines as it is written, like [`port_text`].
#[must_use]
pub fn port_node_text(port: NodeRef<'_>) -> String {
    match port.as_str() {
        Some(name) => port_text(&Port::Name(name.to_owned())),
        None => port.text().unwrap_or_default().to_owned(),
    }
}

/// Returns whether the name of a port is a number in quotes.
#[must_use]
pub fn is_quoted_number(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit())
}

/// Returns a handler as it is written: `http :8080/healthz`.
#[must_use]
pub fn handler_text(handler: &Probe<'_>) -> String {
    match &handler.action {
        Ok(ProbeHandler::HttpGet(http)) => {
            let host = http.host.as_deref().unwrap_or_default();
            http_text(&http.scheme, host, &port_text(&http.port), &http.path)
        }
        Ok(ProbeHandler::TcpSocket { port, host }) => {
            tcp_text(host.as_deref().unwrap_or_default(), &port_text(port))
        }
        Ok(ProbeHandler::Grpc { port, service }) => grpc_text(&port.to_string(), service),
        Ok(action) => action.key().to_owned(),
        Err(_) => "unreadable".to_owned(),
    }
}

/// Returns a handler after the rewrite, with the host that it keeps: `http :15020/app-health/web/readyz`.
#[must_use]
pub fn rewritten_text(handler: &Target, host: Option<&str>) -> String {
    let (host, port) = (host.unwrap_or_default(), handler.port.to_string());
    http_text(handler.scheme, host, &port, &handler.path)
}

pub(in crate::predict) fn http_text(scheme: &str, host: &str, port: &str, path: &str) -> String {
    // The kubelet adds the slash that a path lacks.
    let slash = match path.starts_with('/') || placeholder::contains(path) {
        true => "",
        false => "/",
    };
    format!("{} {host}:{port}{slash}{path}", scheme.to_ascii_lowercase())
}

pub(in crate::predict) fn tcp_text(host: &str, port: &str) -> String {
    format!("tcp {host}:{port}")
}

pub(in crate::predict) fn grpc_text(port: &str, service: &str) -> String {
    format!("grpc :{port} {service}").trim_end().to_owned()
}
