//! The outcome of a handler, and why it has this outcome.

use meshprobe_mesh::mesh::ProbeFault;

/// Why a handler has its outcome. Rules match on this instead of on the mesh.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// The sidecar forwards the probe to the application.
    Forwarded,
    /// The handler does not use the network.
    NoNetwork,
    /// The pod is not in a mesh.
    NoMesh,
    /// The webhook of the mesh refuses the pod.
    PodRefused,
    /// The kubelet is exempt from ambient capture.
    Ambient,
    /// A NetworkPolicy does not admit the kubelet.
    NetworkPolicyDenies,
    /// The network plugin drops the kubelet's packets to pods in ambient mode.
    NetworkPluginDrops,
    /// The agent performs the check.
    Rewritten,
    /// The proxy forwards it to the application, through a listener for probes.
    ForwardedByProxy,
    /// A helper in the pod performs the check.
    CheckedByHelper,
    /// A mesh other than Istio breaks the probe.
    Other(&'static ProbeFault),
    /// The sidecar does not capture the port.
    NotCaptured,
    /// The handler targets another host.
    OtherHost,
    /// Plain text on a port that requires mutual TLS.
    PlaintextAtStrict,
    /// TLS without a client certificate on a port that requires one.
    HttpsAtStrict,
    /// The sidecar accepts every connection.
    SidecarAccepts,
    /// HTTPS on a port whose traffic is treated as HTTP.
    HttpsAtHttpPort,
    /// gRPC on a port whose traffic is treated as HTTP/1.1.
    GrpcAtHttp1Port,
    /// HTTP/1.1 on a port whose traffic is treated as HTTP/2.
    HttpAtHttp2Port,
    /// An AuthorizationPolicy denies a client without identity.
    AuthorizationDenies,
    /// An AuthorizationPolicy closes the connection of a client without identity.
    AuthorizationCloses,
    /// An AuthorizationPolicy depends on a value that only the running mesh knows.
    AuthorizationUnknown,
    /// The rewrite keeps `httpGet.host`: the kubelet sends the request for the agent to that host.
    HostKept,
    /// The rewrite drops `tcpSocket.host`: the agent checks the pod itself.
    HostDropped,
    /// The agent drops the header `Host`: the application receives the address of the pod as its host.
    HostHeaderDropped,
    /// The port name is not declared in the pod.
    PortUnresolved,
    /// The port name is declared only in another container.
    PortOfOtherContainer,
    /// The port is a quoted number.
    PortQuoted,
    /// The port of the application is the agent's own port.
    PortOfAgent,
    /// The probe targets the agent, but there is no sidecar.
    RewrittenWithoutSidecar,
    /// The probe targets the agent, which has no entry for it.
    RewrittenWithoutEntry,
    /// A second injection replaces the prober env that contains its entry.
    EntryReplaced,
    /// The injector points the probe at the agent, but drops its entry.
    EntryDropped,
    /// The agent does not start with its prober env.
    AgentRefusesEnv,
    /// The probe targets a port on which no agent listens.
    RewrittenOtherPort,
    /// The probe targets the agent over HTTPS, which it does not support.
    HttpsAtAgent,
    /// A second injection makes the agent call itself.
    AgentCallsItself,
    /// The injector points probes at one port, but the agent listens on another.
    StatusPortMismatch,
    /// The sidecar captures the agent's port, which requires mutual TLS.
    StatusPortCaptured,
    /// The port of the agent is 0 or out of range: the API server refuses the pod.
    StatusPortZero,
    /// The kubelet and the agent read the path differently.
    PathMisread,
    /// The kubelet reads the path as a URL without a host, and cannot send a request to it.
    PathWithoutHost,
    /// The agent does not support the protocol that the probe sets.
    ProtocolUnsupported,
    /// The agent's entry has no timeout.
    AgentTimeoutZero,
    /// The agent starts only after the probe has passed.
    BeforeSidecar,
    /// The sidecar accepts every connection of the pod to a Service.
    OutboundAccepted,
    /// The kubelet does not run tcpSocket hooks; the API server accepts them.
    HookUnsupported,
    /// The API server refuses the handler.
    Malformed,
    /// Pod Security Admission forbids the host of the handler.
    HostForbidden,
    /// The probe has no handler; the operator of its object may add one.
    MissingHandler,
    /// Another tool fills in a value.
    Placeholder,
    /// The tree does not show whether the pod is in a mesh.
    MeshUnknown,
    /// The manifests do not contain what the mesh does with such a handler.
    MeshDecides,
}

impl Cause {
    /// Returns a short description of the cause.
    #[must_use]
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Forwarded => "the sidecar forwards it",
            Self::NoNetwork => "runs inside the container",
            Self::NoMesh => "not in a mesh",
            Self::PodRefused => "the webhook refuses the pod, so it never starts",
            Self::Ambient => "the kubelet is exempt from ambient capture",
            Self::NetworkPolicyDenies => "a NetworkPolicy drops the kubelet's packets",
            Self::NetworkPluginDrops => "the network plugin drops the kubelet's packets",
            Self::Rewritten => "the agent performs the check",
            Self::ForwardedByProxy => "the proxy forwards it to the application",
            Self::CheckedByHelper => "a helper in the pod performs the check",
            Self::Other(fault) => fault.text,
            Self::NotCaptured => "bypasses the sidecar",
            Self::OtherHost => "targets another host",
            Self::PlaintextAtStrict => "plain text on a port that requires mutual TLS",
            Self::HttpsAtStrict => "no client certificate on a port that requires one",
            Self::SidecarAccepts => "the sidecar accepts every connection",
            Self::HttpsAtHttpPort => "TLS on a port whose traffic is treated as HTTP",
            Self::GrpcAtHttp1Port => "gRPC on a port whose traffic is treated as HTTP/1.1",
            Self::HttpAtHttp2Port => "HTTP/1.1 on a port whose traffic is treated as HTTP/2",
            Self::AuthorizationDenies => "an AuthorizationPolicy denies it",
            Self::AuthorizationCloses => "an AuthorizationPolicy closes the connection",
            Self::AuthorizationUnknown => "an AuthorizationPolicy may deny it",
            Self::HostKept => "the kubelet sends the request for the agent to `host`",
            Self::HostDropped => "the agent checks the pod itself instead of `host`",
            Self::HostHeaderDropped => "the agent drops the header `Host`",
            Self::PortUnresolved => "the port name is not declared",
            Self::PortOfOtherContainer => "the port name is declared only in another container",
            Self::PortQuoted => {
                "the API server refuses the quoted number, and the agent has no entry for it"
            }
            Self::PortOfAgent => "the port is the agent's own, so the agent checks itself",
            Self::RewrittenWithoutSidecar => "targets the agent, but the pod has no sidecar",
            Self::RewrittenWithoutEntry => "targets the agent, which has no entry for it",
            Self::EntryReplaced => "a second injection replaces the env that contains its entry",
            Self::EntryDropped => "the injector points it at the agent and drops its entry",
            Self::AgentRefusesEnv => "the agent does not start with its prober env",
            Self::RewrittenOtherPort => "targets a port on which no agent listens",
            Self::HttpsAtAgent => "targets the agent over HTTPS, which it does not support",
            Self::AgentCallsItself => "a second injection makes the agent call itself in a loop",
            Self::StatusPortMismatch => "targets a port on which the agent does not listen",
            Self::StatusPortCaptured => "the agent's port is captured and requires mutual TLS",
            Self::StatusPortZero => "the injector points it at port 0",
            Self::PathMisread => "the agent reads the path differently",
            Self::PathWithoutHost => "the kubelet cannot request the path",
            Self::ProtocolUnsupported => "the agent does not support the protocol of the probe",
            Self::AgentTimeoutZero => "the agent's entry has no timeout: its check always fails",
            Self::BeforeSidecar => "the agent starts only after this probe has passed",
            Self::OutboundAccepted => "the sidecar accepts every connection to a Service",
            Self::HookUnsupported => "the kubelet does not run tcpSocket hooks",
            Self::Malformed => "the API server refuses it",
            Self::HostForbidden => "Pod Security forbids `host`, so the pod is rejected",
            Self::MissingHandler => "has no handler; the operator may add one",
            Self::Placeholder => "a value is a placeholder",
            Self::MeshDecides => "depends on mutual TLS and routes of the running mesh",
            Self::MeshUnknown => "the tree does not show whether the pod is in a mesh",
        }
    }
}

/// The result of a probe for the kubelet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// The probe reports the state of the application.
    Ok,
    /// The probe fails although the application is up.
    Fails,
    /// The probe can never fail.
    AlwaysPasses,
    /// The probe checks another target than the manifest states.
    TargetChanged,
    /// The API server or the webhook of the mesh refuses the pod.
    Refused,
    /// The manifest is invalid, with or without a mesh.
    InvalidManifest,
    /// The pod is not in a mesh.
    NotInMesh,
    /// The outcome depends on values that the tree does not contain.
    Unknown,
}

impl Outcome {
    /// Returns the word used in every output format.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Fails => "fails",
            Self::AlwaysPasses => "always-passes",
            Self::TargetChanged => "target-changed",
            Self::Refused => "refused",
            Self::InvalidManifest => "broken-without-mesh",
            Self::NotInMesh => "not-in-mesh",
            Self::Unknown => "unknown",
        }
    }

    /// Returns whether the mesh breaks the probe.
    #[must_use]
    pub const fn is_bad(self) -> bool {
        matches!(self, Self::Fails | Self::AlwaysPasses | Self::TargetChanged)
    }

    /// Returns whether the pod does not start or the probe does not work, whatever the mesh does to it.
    #[must_use]
    pub const fn is_invalid(self) -> bool {
        matches!(self, Self::Refused | Self::InvalidManifest)
    }
}
