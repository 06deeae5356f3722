//! The mutual TLS mode that results from `PeerAuthentication`s.
//!
//! Source: Istio 1.31, `pilot/pkg/security/authn/policy_applier.go`.
//!
//! The protocol that Istio assigns to a port: it selects the filter chain that handles a plain probe.
//!
//! Source: Istio 1.31, `pkg/config/kube/conversion.go` (`ConvertProtocol`).

/// The mutual TLS mode of a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MtlsMode {
    /// Plain text only.
    Disable,
    /// Plain text and mutual TLS.
    Permissive,
    /// Mutual TLS only.
    Strict,
}

impl MtlsMode {
    /// Returns the value of the API.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Disable => "DISABLE",
            Self::Permissive => "PERMISSIVE",
            Self::Strict => "STRICT",
        }
    }

    /// Parses the value of the API; `UNSET` and anything else is `None`.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "DISABLE" => Some(Self::Disable),
            "PERMISSIVE" => Some(Self::Permissive),
            "STRICT" => Some(Self::Strict),
            _ => None,
        }
    }
}

/// The modes of the policies that apply to a workload; `None` means no policy, or UNSET.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Scopes {
    /// The policy of the whole mesh.
    pub mesh: Option<MtlsMode>,
    /// The policy of the namespace.
    pub namespace: Option<MtlsMode>,
    /// The policy that selects the workload.
    pub workload: Option<MtlsMode>,
    /// The mode of the workload's policy for the port.
    pub port: Option<MtlsMode>,
}

/// The scope whose policy decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decider {
    /// No policy sets a mode: PERMISSIVE.
    NoPolicy,
    /// The mesh's policy.
    Mesh,
    /// The namespace's policy.
    Namespace,
    /// The workload's policy.
    Workload,
    /// The workload's policy, for this port.
    Port,
}

impl Scopes {
    /// Returns the effective mode and the scope that decides: the narrowest one that sets a mode.
    #[must_use]
    pub fn effective(&self) -> (MtlsMode, Decider) {
        let scopes = [
            (self.port, Decider::Port),
            (self.workload, Decider::Workload),
            (self.namespace, Decider::Namespace),
            (self.mesh, Decider::Mesh),
        ];
        scopes
            .into_iter()
            .find_map(|(mode, decider)| Some((mode?, decider)))
            .unwrap_or((MtlsMode::Permissive, Decider::NoPolicy))
    }
}

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
