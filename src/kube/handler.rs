//! Probe handlers and lifecycle hooks, typed, with the API server's defaults as a view.

use k8s_openapi::api::core::v1::{LifecycleHandler, Probe};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use crate::source::placeholder;
use crate::yaml::{DeError, Entry, NodeRef, Route, Scalar, Span, from_node};

use super::workload::Container;

/// Where a handler stands in a container.
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

    /// Returns the key that holds the handler.
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

    /// Returns the word the kubelet starts its event with: `Readiness` of `Readiness probe failed`.
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

    /// Tells whether this is a lifecycle hook, not a probe.
    #[must_use]
    pub const fn is_lifecycle(self) -> bool {
        matches!(self, Self::PostStart | Self::PreStop)
    }

    /// Returns the entry of the handler in a container, where one is written.
    pub(super) fn entry_in(self, container: NodeRef<'_>) -> Option<Entry<'_>> {
        let holder = if self.is_lifecycle() {
            container.get("lifecycle")?
        } else {
            container
        };
        let entry = holder.entry(self.key())?;
        (!entry.value.is_null()).then_some(entry)
    }

    const fn route(self) -> &'static [&'static str] {
        match self {
            Self::Liveness => &["livenessProbe"],
            Self::Readiness => &["readinessProbe"],
            Self::Startup => &["startupProbe"],
            Self::PostStart => &["lifecycle", "postStart"],
            Self::PreStop => &["lifecycle", "preStop"],
        }
    }
}

/// The keys that hold what a probe or hook does.
const KINDS: [&str; 5] = ["httpGet", "tcpSocket", "grpc", "exec", "sleep"];

/// A port as written: a number, or a name of the container's `ports`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Port {
    /// A number, which need not be in range.
    Number(i64),
    /// A name; digits in quotes are a name too.
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

/// An `httpGet` handler; defaults of the API server filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpGet {
    /// The path; `/` where none is written.
    pub path: String,
    /// The port.
    pub port: Port,
    /// The host, where one is written.
    pub host: Option<String>,
    /// The scheme; `HTTP` where none is written.
    pub scheme: String,
    /// Header names with values, in order.
    pub headers: Vec<(String, String)>,
}

/// What a handler does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// `httpGet`.
    HttpGet(HttpGet),
    /// `tcpSocket`.
    TcpSocket {
        /// The port.
        port: Port,
        /// The host, where one is written.
        host: Option<String>,
    },
    /// `grpc`.
    Grpc {
        /// The port; the API has no names here.
        port: i64,
        /// The service; empty where none is written.
        service: String,
    },
    /// `exec`.
    Exec,
    /// `sleep` of a lifecycle hook.
    Sleep,
    /// No handler at all.
    Missing,
}

impl Action {
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

    /// Returns the port, if the handler goes over the network.
    #[must_use]
    pub fn port(&self) -> Option<Port> {
        match self {
            Self::HttpGet(http) => Some(http.port.clone()),
            Self::TcpSocket { port, .. } => Some(port.clone()),
            Self::Grpc { port, .. } => Some(Port::Number(*port)),
            Self::Exec | Self::Sleep | Self::Missing => None,
        }
    }

    /// Returns the host, where one is written.
    #[must_use]
    pub fn host(&self) -> Option<&str> {
        match self {
            Self::HttpGet(http) => http.host.as_deref(),
            Self::TcpSocket { host, .. } => host.as_deref(),
            Self::Grpc { .. } | Self::Exec | Self::Sleep | Self::Missing => None,
        }
    }
}

/// Why a handler cannot be judged.
#[derive(Clone, Debug)]
pub enum Unreadable {
    /// A value is a placeholder that some other tool fills in.
    Placeholder(Span),
    /// The API server would refuse it.
    Malformed(DeError),
}

/// One probe or lifecycle hook.
#[derive(Clone, Debug)]
pub struct Handler<'t> {
    /// Where it stands.
    pub slot: Slot,
    /// The probe or hook.
    pub node: NodeRef<'t>,
    /// The key that holds it.
    pub key: NodeRef<'t>,
    /// The route from the root of the document.
    pub route: Route,
    /// The route from the object.
    pub within: Route,
    /// What it does: the handler that counts where several are written (httpGet, tcpSocket,
    /// grpc, exec, sleep in this order).
    pub action: Result<Action, Unreadable>,
    /// How many handlers are written; the API allows one.
    pub written: usize,
    /// Seconds; 1 where none is written, as the API server defaults it. Hooks have none.
    pub timeout_seconds: Option<i64>,
}

impl<'t> Handler<'t> {
    pub(super) fn all_of(container: &Container<'t>) -> Vec<Self> {
        Slot::ALL
            .into_iter()
            .filter_map(|slot| Self::read(container, slot))
            .collect()
    }

    fn read(container: &Container<'t>, slot: Slot) -> Option<Self> {
        let entry = slot.entry_in(container.node)?;
        let (action, timeout_seconds) = typed(entry.value, slot);
        let steps = Route::keys(slot.route());
        Some(Self {
            slot,
            node: entry.value,
            key: entry.key,
            route: container.route.join(&steps),
            within: container.within.join(&steps),
            action: action.map_err(|error| explain(entry.value, error)),
            written: kinds(entry.value).count(),
            timeout_seconds,
        })
    }

    /// Returns the place to point at: the value of `field` in the handler (`port`, `host` …)
    /// where it is written on one line, else the key of the probe.
    #[must_use]
    pub fn field_span(&self, field: &str) -> Span {
        let action = self.action.as_ref().map_or("", Action::key);
        let value = self.node.get(action).and_then(|handler| handler.get(field));
        value.map_or_else(|| self.key.span(), NodeRef::span)
    }

    /// Iterates over the keys of the handlers that are written: `httpGet`, `tcpSocket` …
    pub fn kinds(&self) -> impl Iterator<Item = NodeRef<'t>> + use<'t> {
        kinds(self.node)
    }

    /// Returns the key that names the handler kind (`httpGet:`), else the key of the probe.
    #[must_use]
    pub fn kind_span(&self) -> Span {
        let action = self.action.as_ref().map_or("", Action::key);
        self.node
            .entry(action)
            .map_or_else(|| self.key.span(), |entry| entry.key.span())
    }
}

fn typed(node: NodeRef<'_>, slot: Slot) -> (Result<Action, DeError>, Option<i64>) {
    if slot.is_lifecycle() {
        return (from_node::<LifecycleHandler>(node).map(hook_action), None);
    }
    match from_node::<Probe>(node) {
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

fn probe_action(probe: Probe) -> Action {
    if let Some(http) = probe.http_get {
        return http_action(http);
    }
    if let Some(tcp) = probe.tcp_socket {
        return tcp_action(tcp);
    }
    if let Some(grpc) = probe.grpc {
        let service = grpc.service.unwrap_or_default();
        return Action::Grpc {
            port: i64::from(grpc.port),
            service,
        };
    }
    if probe.exec.is_some() {
        Action::Exec
    } else {
        Action::Missing
    }
}

fn hook_action(hook: LifecycleHandler) -> Action {
    if let Some(http) = hook.http_get {
        return http_action(http);
    }
    if let Some(tcp) = hook.tcp_socket {
        return tcp_action(tcp);
    }
    match (hook.exec, hook.sleep) {
        (Some(_), _) => Action::Exec,
        (None, Some(_)) => Action::Sleep,
        (None, None) => Action::Missing,
    }
}

fn http_action(http: k8s_openapi::api::core::v1::HTTPGetAction) -> Action {
    let filled = |text: Option<String>, default: &str| {
        text.filter(|text| !text.is_empty())
            .unwrap_or_else(|| default.to_owned())
    };
    Action::HttpGet(HttpGet {
        path: filled(http.path, "/"),
        port: port(http.port),
        host: http.host.filter(|host| !host.is_empty()),
        scheme: filled(http.scheme, "HTTP"),
        headers: http
            .http_headers
            .unwrap_or_default()
            .into_iter()
            .map(|header| (header.name, header.value))
            .collect(),
    })
}

fn tcp_action(tcp: k8s_openapi::api::core::v1::TCPSocketAction) -> Action {
    Action::TcpSocket {
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

/// Tells a placeholder from a fault: `timeoutSeconds: ${TIMEOUT}` is not wrong, only unknown.
fn explain(node: NodeRef<'_>, error: DeError) -> Unreadable {
    let text = error.span.slice(node.tree().text());
    if placeholder::contains(text) {
        Unreadable::Placeholder(error.span)
    } else {
        Unreadable::Malformed(error)
    }
}

/// The keys of the handlers that are written, in the order of the text.
fn kinds(node: NodeRef<'_>) -> impl Iterator<Item = NodeRef<'_>> {
    let written = node.effective_entries().into_iter().filter(|entry| {
        let key = entry.key.text().unwrap_or_default();
        KINDS.contains(&key) && !entry.value.is_null()
    });
    written.map(|entry| entry.key)
}

/// Returns the integer that Kubernetes tooling reads from a scalar: `8080` and `8080.0`.
#[must_use]
pub fn integer(node: NodeRef<'_>) -> Option<i64> {
    match node.scalar()? {
        Scalar::Int(number) => Some(number),
        #[expect(
            clippy::cast_possible_truncation,
            reason = "checked to be integral and small"
        )]
        Scalar::Float(number) if number.fract() == 0.0 && number.abs() < 1e15 => {
            Some(number as i64)
        }
        _ => None,
    }
}
