//! What a probe or hook does.

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
