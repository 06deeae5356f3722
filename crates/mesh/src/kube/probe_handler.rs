//! What a probe or hook does.
//!
//! What Knative Serving makes of the probes of its revisions.
//!
//! Source: Knative Serving 1.23.0, `pkg/apis/serving/v1/revision_defaults.go`,
//! `pkg/reconciler/revision/resources/deploy.go` and `queue.go`.
//!
//! Fields of a container that contain a probe or a hook.

use meshprobe_yaml::{Entry, NodeRef};

use super::container::RevisionContainer;

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
