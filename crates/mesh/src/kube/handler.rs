//! Typed probe handlers and lifecycle hooks, with the defaults of the API server.

use k8s_openapi::api::core::v1::{LifecycleHandler, Probe as ApiProbe};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use meshprobe_tree::source::placeholder;
use meshprobe_yaml::{DeError, FieldPath, NodeRef, Span, from_node};

use super::container::Container;
use super::probe_handler;
use super::probe_handler::{HttpGet, Port, ProbeHandler, Slot};

/// Reason why a handler cannot be checked.
#[derive(Clone, Debug)]
pub enum Unreadable {
    /// A value is a placeholder that another tool fills in.
    Placeholder(Span),
    /// The API server rejects it.
    Malformed(DeError),
}

/// One probe or lifecycle hook.
#[derive(Clone, Debug)]
pub struct Probe<'t> {
    /// The field that contains it.
    pub slot: Slot,
    /// The probe or hook.
    pub node: NodeRef<'t>,
    /// The key of that field.
    pub key: NodeRef<'t>,
    /// The route from the root of the document.
    pub route: FieldPath,
    /// The route from the object.
    pub within: FieldPath,
    /// What it does. If several handlers are set, the first of httpGet, tcpSocket, grpc, exec and
    /// sleep.
    pub action: Result<ProbeHandler, Unreadable>,
    /// Number of handlers that are set; the API allows one.
    pub written: usize,
    /// Timeout in seconds; 1 by default, as in the API server. `None` for hooks.
    pub timeout_seconds: Option<i64>,
}

impl<'t> Container<'t> {
    /// Returns whether a probe or hook is set.
    #[must_use]
    pub fn has_handler(&self, slot: Slot) -> bool {
        slot.entry_in(self.node).is_some()
    }

    /// Returns the probes and hooks, in the order liveness, readiness, startup, postStart, preStop.
    #[must_use]
    pub fn handlers(&self) -> Vec<Probe<'t>> {
        Probe::all_of(self)
    }
}

impl<'t> Probe<'t> {
    pub(super) fn all_of(container: &Container<'t>) -> Vec<Self> {
        Slot::ALL
            .into_iter()
            .filter_map(|slot| Self::read(container, slot))
            .collect()
    }

    fn read(container: &Container<'t>, slot: Slot) -> Option<Self> {
        let entry = slot.entry_in(container.node)?;
        let (mut action, timeout_seconds) = action_and_timeout(entry.value, slot);
        let mut written = kinds(entry.value, slot).count();
        if let (Some(revision), Ok(action)) = (container.revision, &mut action) {
            written += usize::from(probe_handler::complete(revision, slot, action));
        }
        let steps = FieldPath::keys(slot.route());
        Some(Self {
            slot,
            node: entry.value,
            key: entry.key,
            route: container.route.join(&steps),
            within: container.within.join(&steps),
            action: action.map_err(|error| unreadable(entry.value, error)),
            written,
            timeout_seconds,
        })
    }

    /// Returns the span that a finding points at: the value of `field` in the handler (`port`,
    /// `host` …) if it is set, else the key of the probe.
    #[must_use]
    pub fn field_span(&self, field: &str) -> Span {
        let action = self.action.as_ref().map_or("", ProbeHandler::key);
        let value = self.node.get(action).and_then(|handler| handler.get(field));
        value.map_or_else(|| self.key.span(), NodeRef::span)
    }

    /// Iterates over the keys of the handlers that are set: `httpGet`, `tcpSocket` …
    pub fn kinds(&self) -> impl Iterator<Item = NodeRef<'t>> + use<'t> {
        kinds(self.node, self.slot)
    }

    /// Returns the span of the key of the handler (`httpGet:`), else of the key of the probe.
    #[must_use]
    pub fn kind_span(&self) -> Span {
        let action = self.action.as_ref().map_or("", ProbeHandler::key);
        self.node
            .entry(action)
            .map_or_else(|| self.key.span(), |entry| entry.key.span())
    }
}

fn action_and_timeout(
    node: NodeRef<'_>,
    slot: Slot,
) -> (Result<ProbeHandler, DeError>, Option<i64>) {
    if slot.is_lifecycle() {
        return (from_node::<LifecycleHandler>(node).map(hook_action), None);
    }
    match from_node::<ApiProbe>(node) {
        Ok(probe) => {
            let timeout = probe
                .timeout_seconds
                .filter(|&seconds| seconds != 0)
                .unwrap_or(1);
            (Ok(probe_action(probe)), Some(i64::from(timeout)))
        }
        Err(error) => (Err(error), Some(1)),
    }
}

fn probe_action(probe: ApiProbe) -> ProbeHandler {
    if let Some(http) = probe.http_get {
        return http_action(http);
    }
    if let Some(tcp) = probe.tcp_socket {
        return tcp_action(tcp);
    }
    if let Some(grpc) = probe.grpc {
        let service = grpc.service.unwrap_or_default();
        return ProbeHandler::Grpc {
            port: i64::from(grpc.port),
            service,
        };
    }
    if probe.exec.is_some() {
        ProbeHandler::Exec
    } else {
        ProbeHandler::Missing
    }
}

fn hook_action(hook: LifecycleHandler) -> ProbeHandler {
    if let Some(http) = hook.http_get {
        return http_action(http);
    }
    if let Some(tcp) = hook.tcp_socket {
        return tcp_action(tcp);
    }
    match (hook.exec, hook.sleep) {
        (Some(_), _) => ProbeHandler::Exec,
        (None, Some(_)) => ProbeHandler::Sleep,
        (None, None) => ProbeHandler::Missing,
    }
}

fn http_action(http: k8s_openapi::api::core::v1::HTTPGetAction) -> ProbeHandler {
    let or_default = |text: Option<String>, default: &str| {
        text.filter(|text| !text.is_empty())
            .unwrap_or_else(|| default.to_owned())
    };
    ProbeHandler::HttpGet(HttpGet {
        path: or_default(http.path, "/"),
        port: port(http.port),
        host: http.host.filter(|host| !host.is_empty()),
        scheme: or_default(http.scheme, "HTTP"),
        headers: http
            .http_headers
            .unwrap_or_default()
            .into_iter()
            .map(|header| (header.name, header.value))
            .collect(),
    })
}

fn tcp_action(tcp: k8s_openapi::api::core::v1::TCPSocketAction) -> ProbeHandler {
    ProbeHandler::TcpSocket {
        port: port(tcp.port),
        host: tcp.host.filter(|host| !host.is_empty()),
    }
}

fn port(port: IntOrString) -> Port {
    match port {
        IntOrString::Int(number) => Port::Number(i64::from(number)),
        IntOrString::String(name) => Port::Name(name),
    }
}

/// Separates placeholders from errors: `timeoutSeconds: ${TIMEOUT}` is unknown, not wrong.
fn unreadable(node: NodeRef<'_>, error: DeError) -> Unreadable {
    let text = error.span.slice(node.tree().text());
    if placeholder::contains(text) {
        Unreadable::Placeholder(error.span)
    } else {
        Unreadable::Malformed(error)
    }
}

/// Returns the keys of the handlers that are set, in the order of the text.
fn kinds(node: NodeRef<'_>, slot: Slot) -> impl Iterator<Item = NodeRef<'_>> {
    node.effective_entries()
        .into_iter()
        .filter(move |entry| {
            let key = entry.key.text().unwrap_or_default();
            slot.handler_keys().contains(&key) && !entry.value.is_null()
        })
        .map(|entry| entry.key)
}
