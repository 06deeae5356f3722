//! The protocol that Istio assigns to a port: it selects the filter chain that handles a plain probe.
//!
//! Source: Istio 1.31, `pkg/config/kube/conversion.go` (`ConvertProtocol`).

/// The protocol class of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// HTTP/1.1.
    Http,
    /// HTTP/2, gRPC included.
    Http2,
    /// Opaque TCP: the bytes are passed on.
    Tcp,
    /// Detected from the first bytes.
    Auto,
}

impl Protocol {
    /// Reads `appProtocol`, else the prefix of the Service port's name up to the first `-`.
    #[must_use]
    pub fn of_service_port(app_protocol: Option<&str>, name: Option<&str>) -> Self {
        let value = match app_protocol {
            Some(value) => value,
            None => name.map_or("", |name| name.split('-').next().unwrap_or_default()),
        };
        match value.to_ascii_lowercase().as_str() {
            "http" => Self::Http,
            // Upstream, grpc-web uses HTTP/1.1.
            "grpc" if name.is_some_and(|name| name.starts_with("grpc-web")) => Self::Http,
            "grpc-web" => Self::Http,
            "http2" | "grpc" | "kubernetes.io/h2c" => Self::Http2,
            "tcp" | "tls" | "https" | "mongo" | "mysql" | "redis" | "udp" => Self::Tcp,
            _ => Self::Auto,
        }
    }
}
