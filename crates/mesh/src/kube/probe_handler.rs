//! What a probe or hook does.
//!
//! What Knative Serving makes of the probes of its revisions.
//!
//! Source: Knative Serving 1.23.0, `pkg/apis/serving/v1/revision_defaults.go`,
//! `pkg/reconciler/revision/resources/deploy.go` and `queue.go`.
//!
//! Fields of a container that contain a probe or a hook.
//!
//! Typed probe handlers and lifecycle hooks, with the defaults of the API server.

use k8s_openapi::api::core::v1::{LifecycleHandler, Probe as ApiProbe};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use meshprobe_tree::source::placeholder;
use meshprobe_yaml::{DeError, Entry, FieldPath, NodeRef, Span, from_node};

use super::container::{Container, RevisionContainer};

/// A port as written: a number, or a name of the container's `ports`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Port {
    /// A number, which can be out of range.
    Number(i64),
    /// A name. Digits in quotes are a name, too.
    Name(String),
}

impl std::fmt::Display for Port {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::Name(name) => f.write_str(name),
        }
    }
}

/// An `httpGet` handler with the defaults of the API server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpGet {
    /// The path; `/` by default.
    pub path: String,
    /// The port.
    pub port: Port,
    /// The host, if set.
    pub host: Option<String>,
    /// The scheme; `HTTP` by default.
    pub scheme: String,
    /// Names and values of headers, in order.
    pub headers: Vec<(String, String)>,
}

/// What a handler does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ProbeHandler {
    /// `httpGet`.
    HttpGet(HttpGet),
    /// `tcpSocket`.
    TcpSocket {
        /// The port.
        port: Port,
        /// The host, if set.
        host: Option<String>,
    },
    /// `grpc`.
    Grpc {
        /// The port; the API does not allow names here.
        port: i64,
        /// The service; empty by default.
        service: String,
    },
    /// `exec`.
    Exec,
    /// `sleep` of a lifecycle hook.
    Sleep,
    /// No handler at all.
    Missing,
}

impl ProbeHandler {
    /// Returns the key of the handler in the manifest.
    #[must_use]
    pub const fn key(&self) -> &'static str {
        match self {
            Self::HttpGet(_) => "httpGet",
            Self::TcpSocket { .. } => "tcpSocket",
            Self::Grpc { .. } => "grpc",
            Self::Exec => "exec",
            Self::Sleep => "sleep",
            Self::Missing => "none",
        }
    }

    /// Returns the port, if the handler uses the network.
    #[must_use]
    pub fn port(&self) -> Option<Port> {
        match self {
            Self::HttpGet(http) => Some(http.port.clone()),
            Self::TcpSocket { port, .. } => Some(port.clone()),
            Self::Grpc { port, .. } => Some(Port::Number(*port)),
            Self::Exec | Self::Sleep | Self::Missing => None,
        }
    }

    /// Returns the host, if set.
    #[must_use]
    pub fn host(&self) -> Option<&str> {
        match self {
            Self::HttpGet(http) => http.host.as_deref(),
            Self::TcpSocket { host, .. } => host.as_deref(),
            Self::Grpc { .. } | Self::Exec | Self::Sleep | Self::Missing => None,
        }
    }
}

/// The group of Knative's `Service`, `Configuration` and `Revision`.
pub const KNATIVE_SERVING: &str = "serving.knative.dev";

/// The container that Knative adds to each pod.
pub const QUEUE_PROXY: &str = "queue-proxy";

/// Sets what Knative adds to a probe of the container that serves the requests: its port, and a `tcpSocket` handler
/// to a `readinessProbe` without a handler. Returns whether it adds a handler.
pub(super) fn complete(revision: RevisionContainer, slot: Slot, action: &mut ProbeHandler) -> bool {
    if !revision.is_serving || !matches!(slot, Slot::Liveness | Slot::Readiness) {
        return false;
    }
    let port = Port::Number(revision.user_port);
    match action {
        ProbeHandler::HttpGet(http) if http.port == Port::Number(0) => http.port = port,
        ProbeHandler::TcpSocket { port: written, .. } if *written == Port::Number(0) => {
            *written = port;
        }
        ProbeHandler::Grpc { port: written, .. } if *written == 0 && slot == Slot::Readiness => {
            *written = revision.user_port;
        }
        ProbeHandler::Missing if slot == Slot::Readiness => {
            *action = ProbeHandler::TcpSocket { port, host: None };
            return true;
        }
        _ => {}
    }
    false
}

/// Returns the request that the kubelet sends for a probe of a revision; `None` for a probe that stays as it is
/// written.
///
/// Knative removes a `readinessProbe` with a request from its container. The kubelet sends a request to queue-proxy,
/// which makes the check of the container from inside the pod.
#[must_use]
pub fn queue_proxy_request(
    revision: Option<RevisionContainer>,
    slot: Slot,
    action: &ProbeHandler,
) -> Option<ProbeHandler> {
    let revision = revision.filter(|revision| revision.is_main)?;
    let is_moved = slot == Slot::Readiness && action.port().is_some();
    is_moved.then(|| {
        ProbeHandler::HttpGet(HttpGet {
            path: "/".to_owned(),
            port: Port::Number(revision.queue_port),
            host: None,
            scheme: "HTTP".to_owned(),
            headers: vec![("K-Network-Probe".to_owned(), "queue".to_owned())],
        })
    })
}

/// Field of a container that contains a handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Slot {
    /// `livenessProbe`.
    Liveness,
    /// `readinessProbe`.
    Readiness,
    /// `startupProbe`.
    Startup,
    /// `lifecycle.postStart`.
    PostStart,
    /// `lifecycle.preStop`.
    PreStop,
}

impl Slot {
    /// All slots, in the order in which they are reported.
    pub const ALL: [Self; 5] = [
        Self::Liveness,
        Self::Readiness,
        Self::Startup,
        Self::PostStart,
        Self::PreStop,
    ];

    /// Returns the key of the handler.
    #[must_use]
    pub const fn key(self) -> &'static str {
        match self {
            Self::Liveness => "livenessProbe",
            Self::Readiness => "readinessProbe",
            Self::Startup => "startupProbe",
            Self::PostStart => "postStart",
            Self::PreStop => "preStop",
        }
    }

    /// Returns the word with which the kubelet starts its event: `Readiness` of `Readiness probe failed`.
    #[must_use]
    pub const fn kubelet_word(self) -> &'static str {
        match self {
            Self::Liveness => "Liveness",
            Self::Readiness => "Readiness",
            Self::Startup => "Startup",
            Self::PostStart => "PostStart",
            Self::PreStop => "PreStop",
        }
    }

    /// Returns whether this is a lifecycle hook, not a probe.
    #[must_use]
    pub const fn is_lifecycle(self) -> bool {
        matches!(self, Self::PostStart | Self::PreStop)
    }

    /// Returns the keys of the handlers that the field can contain. The API server ignores others, or refuses them as
    /// unknown fields.
    #[must_use]
    pub const fn handler_keys(self) -> &'static [&'static str] {
        if self.is_lifecycle() {
            &["httpGet", "tcpSocket", "exec", "sleep"]
        } else {
            &["httpGet", "tcpSocket", "grpc", "exec"]
        }
    }

    /// Returns the entry of the handler in a container, if there is one.
    pub(in crate::kube) fn entry_in(self, container: NodeRef<'_>) -> Option<Entry<'_>> {
        let parent = if self.is_lifecycle() {
            container.get("lifecycle")?
        } else {
            container
        };
        let entry = parent.entry(self.key())?;
        (!entry.value.is_null()).then_some(entry)
    }

    pub(super) const fn route(self) -> &'static [&'static str] {
        match self {
            Self::Liveness => &["livenessProbe"],
            Self::Readiness => &["readinessProbe"],
            Self::Startup => &["startupProbe"],
            Self::PostStart => &["lifecycle", "postStart"],
            Self::PreStop => &["lifecycle", "preStop"],
        }
    }
}

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
            written += usize::from(complete(revision, slot, action));
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
    if placeholder::contains(node.tree().source_at(error.span)) {
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
