//! Why a handler has its outcome.

use super::Trouble;

/// Why a handler has its outcome; rules ask for this, not for the mesh.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// Nothing stands in the way.
    Fine,
    /// The handler does not use the network.
    NoNetwork,
    /// The pod is in no mesh.
    NoMesh,
    /// The webhook of the mesh refuses the pod.
    PodRefused,
    /// The kubelet is exempt from ambient capture.
    Ambient,
    /// A NetworkPolicy does not admit the kubelet.
    NetworkPolicyDenies,
    /// The agent answers for the probe.
    Rewritten,
    /// The proxy passes it on to the application, through a listener for probes.
    PassedOn,
    /// A helper in the pod makes the check.
    Helped,
    /// A mesh that is not Istio spoils it.
    Other(Trouble),
    /// The redirect leaves the port alone.
    NotCaptured,
    /// The handler calls another host.
    OtherHost,
    /// Plain text at a port that demands mutual TLS.
    PlaintextAtStrict,
    /// TLS without client certificate at a port that demands one.
    HttpsAtStrict,
    /// The sidecar accepts every connection.
    SidecarAccepts,
    /// HTTPS at a port whose traffic is taken for HTTP.
    HttpsAtHttpPort,
    /// gRPC at a port whose traffic is taken for HTTP/1.1.
    GrpcAtHttp1Port,
    /// HTTP/1.1 at a port whose traffic is taken for HTTP/2.
    HttpAtHttp2Port,
    /// An AuthorizationPolicy refuses a client without identity.
    AuthorizationDenies,
    /// An AuthorizationPolicy closes the connection of a client without identity.
    AuthorizationCloses,
    /// An AuthorizationPolicy depends on what only the running mesh knows.
    AuthorizationUnknown,
    /// The rewrite keeps `httpGet.host`: the kubelet asks that host for the agent.
    HostKept,
    /// The rewrite drops `tcpSocket.host`: the pod tests itself.
    HostDropped,
    /// The port name is declared nowhere in the pod.
    PortUnresolved,
    /// The port name is declared in another container only.
    PortOfOtherContainer,
    /// The port is a number in quotes.
    PortQuoted,
    /// The port of the application is the agent's.
    PortOfAgent,
    /// The probe points at the agent, and there is no sidecar.
    RewrittenWithoutSidecar,
    /// The probe points at the agent, which has no entry for it.
    RewrittenWithoutEntry,
    /// A second injection replaces the prober env that holds its entry.
    EntryReplaced,
    /// The injector points the probe at the agent, and throws its entry away.
    EntryDropped,
    /// The agent does not start on its prober env.
    AgentRefusesEnv,
    /// The probe points at a port on which no agent listens.
    RewrittenOtherPort,
    /// The probe asks the agent by HTTPS, which it does not speak.
    HttpsAtAgent,
    /// A second injection has the agent call itself.
    AgentCallsItself,
    /// The injector points probes at one port, and the agent listens on another.
    StatusPortMismatch,
    /// The redirect takes the agent's port, where mutual TLS is demanded.
    StatusPortCaptured,
    /// The port of the agent is 0 or no port at all: the API server refuses the pod.
    StatusPortZero,
    /// The kubelet and the agent read the path differently.
    PathMisread,
    /// The agent gives the check no time.
    AgentTimeoutZero,
    /// The agent is started only after the probe has passed.
    BeforeSidecar,
    /// The sidecar accepts every connection of the pod to a Service.
    OutboundAccepted,
    /// The kubelet runs no tcpSocket hooks; the API server lets them pass.
    HookUnsupported,
    /// The API server refuses the handler.
    Malformed,
    /// A value is filled in by another tool.
    Placeholder,
    /// The tree does not say whether the pod is in a mesh.
    MeshUnknown,
    /// What the mesh does with such a handler stands in no manifest.
    MeshDecides,
}

impl Cause {
    /// Returns the cause in a few words.
    #[must_use]
    pub const fn describe(self) -> &'static str {
        match self {
            Self::Fine => "the sidecar passes it on",
            Self::NoNetwork => "runs inside the container",
            Self::NoMesh => "not in a mesh",
            Self::PodRefused => "the webhook refuses the pod, so it never starts",
            Self::Ambient => "the kubelet is exempt from ambient capture",
            Self::NetworkPolicyDenies => "a NetworkPolicy drops the kubelet's packets",
            Self::Rewritten => "the agent makes the check",
            Self::PassedOn => "the proxy passes it on to the application",
            Self::Helped => "a helper in the pod makes the check",
            Self::Other(trouble) => trouble.describe(),
            Self::NotCaptured => "passes the sidecar by",
            Self::OtherHost => "calls another host",
            Self::PlaintextAtStrict => "plain text at a port that demands mutual TLS",
            Self::HttpsAtStrict => "no client certificate at a port that demands one",
            Self::SidecarAccepts => "the sidecar accepts every connection",
            Self::HttpsAtHttpPort => "TLS at a port whose traffic is taken for HTTP",
            Self::GrpcAtHttp1Port => "gRPC at a port whose traffic is taken for HTTP/1.1",
            Self::HttpAtHttp2Port => "HTTP/1.1 at a port whose traffic is taken for HTTP/2",
            Self::AuthorizationDenies => "an AuthorizationPolicy refuses it",
            Self::AuthorizationCloses => "an AuthorizationPolicy closes the connection",
            Self::AuthorizationUnknown => "an AuthorizationPolicy may refuse it",
            Self::HostKept => "the kubelet asks `host` for the agent",
            Self::HostDropped => "the pod itself is tested in place of `host`",
            Self::PortUnresolved => "the port name is declared nowhere",
            Self::PortOfOtherContainer => "the port name is declared in another container",
            Self::PortQuoted => "the port is a number in quotes: the agent has no entry",
            Self::PortOfAgent => "the port is the agent's own, so the agent is asked about itself",
            Self::RewrittenWithoutSidecar => "points at an agent that is not there",
            Self::RewrittenWithoutEntry => "points at the agent, which has no entry for it",
            Self::EntryReplaced => "a second injection replaces the env that has its entry",
            Self::EntryDropped => "the injector points it at the agent and drops its entry",
            Self::AgentRefusesEnv => "the agent does not start on its prober env",
            Self::RewrittenOtherPort => "points at a port on which no agent listens",
            Self::HttpsAtAgent => "asks the agent by HTTPS, which it does not speak",
            Self::AgentCallsItself => "a second injection has the agent call itself without end",
            Self::StatusPortMismatch => "points at a port on which the agent does not listen",
            Self::StatusPortCaptured => "the agent's port is captured and demands mutual TLS",
            Self::StatusPortZero => "the injector points it at port 0",
            Self::PathMisread => "the agent reads the path differently",
            Self::AgentTimeoutZero => "the agent's entry has no timeout: its check always fails",
            Self::BeforeSidecar => "the agent starts only after this probe has passed",
            Self::OutboundAccepted => "the sidecar accepts every connection to a Service",
            Self::HookUnsupported => "the kubelet runs no tcpSocket hooks",
            Self::Malformed => "the API server refuses it",
            Self::Placeholder => "a value is filled in by another tool",
            Self::MeshDecides => "depends on mutual TLS and routes of the running mesh",
            Self::MeshUnknown => "the tree does not say whether a mesh is there",
        }
    }
}
