//! Protocols of probes that Kubernetes 1.37 introduced (alpha) and that Istio's agent does not support.
//!
//! Sources: `HTTPGetAction.Protocol` and `GRPCAction.Mode` in `k8s.io/api/core/v1`, Kubernetes 1.37. The agent of Istio
//! 1.31, `pilot/cmd/pilot-agent/status/server.go`, sends HTTP/1.1 and gRPC without TLS: the prober env, which is decoded
//! with an older Kubernetes client, does not contain the fields.

use meshprobe_mesh::kube::{Probe, ProbeHandler};
use meshprobe_mesh::mesh::Fact;
use meshprobe_yaml::NodeRef;

/// A protocol that the agent does not support.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnsupportedProtocol {
    /// `httpGet.protocol: HTTP2`.
    Http2,
    /// `grpc.mode: TLS`.
    GrpcTls,
}

impl UnsupportedProtocol {
    /// Returns the field that sets the protocol.
    #[must_use]
    pub const fn field(self) -> &'static str {
        match self {
            Self::Http2 => "protocol",
            Self::GrpcTls => "mode",
        }
    }

    /// Returns what must hold for the probe to fail; `None` if it fails in any case.
    pub(in crate::predict) fn assumption(self) -> Option<Fact<()>> {
        let message = "the application does not accept HTTP/1.1, because its probe requires HTTP/2";
        (self == Self::Http2).then(|| Fact::assumed((), message, None))
    }
}

/// Returns the protocol of a probe that the agent does not support.
#[must_use]
pub fn unsupported_protocol(probe: &Probe<'_>) -> Option<UnsupportedProtocol> {
    let action = probe.action.as_ref().ok()?;
    let protocol = match action {
        ProbeHandler::HttpGet(_) => UnsupportedProtocol::Http2,
        ProbeHandler::Grpc { .. } => UnsupportedProtocol::GrpcTls,
        _ => return None,
    };
    let node = probe.node.get(action.key())?;
    let value = node.get(protocol.field()).and_then(NodeRef::text)?;
    let is_set = match protocol {
        UnsupportedProtocol::Http2 => value == "HTTP2",
        UnsupportedProtocol::GrpcTls => value == "TLS",
    };
    is_set.then_some(protocol)
}
