//! The stations of a probe's way.

use meshprobe_mesh::mesh::Mesh;

/// What the request of a probe passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HopKind {
    /// The API server, which admits the pod.
    ApiServer,
    /// The webhook of the mesh.
    Webhook,
    /// The kubelet, which runs the probe.
    Kubelet,
    /// The agent on a virtual machine, which runs the check of a `WorkloadGroup`.
    MachineAgent,
    /// A NetworkPolicy.
    NetworkPolicy,
    /// The network plugin of the cluster.
    NetworkPlugin,
    /// ztunnel, in ambient mode.
    Ztunnel,
    /// The redirect of inbound ports to the sidecar.
    Redirect,
    /// The proxy of the mesh in the pod.
    Sidecar,
    /// Istio's agent, which performs rewritten checks.
    Agent,
    /// A helper in the pod that performs checks, for a mesh other than Istio.
    Helper,
    /// The container, in which a command runs.
    Command,
    /// A Service that a command calls.
    Service,
    /// Another host or port than that of the application.
    OtherTarget,
    /// The application.
    Application,
    /// A part that the manifests do not determine.
    NotKnown,
}

/// What happens at a hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HopState {
    /// The request passes.
    Passed,
    /// The request does not pass through it.
    Bypassed,
    /// The request goes wrong here.
    Fault,
    /// The manifests do not determine what happens.
    Unknown,
    /// The request does not arrive.
    NotReached,
}

/// One hop of a probe's way.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Hop {
    /// What it is.
    pub kind: HopKind,
    /// What happens there.
    pub state: HopState,
    /// What is known about it, such as "port 8080 is captured"; may be empty.
    pub detail: String,
}

impl HopKind {
    /// Returns the name for people, in a pod of `mesh`.
    #[must_use]
    pub fn title(self, mesh: Option<Mesh>) -> String {
        let is_istio = mesh.is_none_or(|mesh| mesh == Mesh::ISTIO);
        let of_mesh = |noun: &str| match mesh {
            Some(mesh) => format!("{noun} of {}", mesh.title()),
            None => noun.to_owned(),
        };
        let title = match self {
            Self::ApiServer => "API server",
            Self::Webhook => return of_mesh("webhook"),
            Self::Kubelet => "kubelet",
            Self::MachineAgent => "agent of the machine",
            Self::NetworkPolicy => "NetworkPolicy",
            Self::NetworkPlugin => "network plugin",
            Self::Ztunnel => "ztunnel",
            Self::Redirect => "redirect",
            Self::Sidecar if is_istio => "Envoy",
            Self::Sidecar => return of_mesh("sidecar"),
            Self::Agent => "agent",
            Self::Helper => return of_mesh("helper"),
            Self::Command => "command",
            Self::Service => "Service",
            Self::OtherTarget => "other target",
            Self::Application => "application",
            Self::NotKnown => "not known",
        };
        title.to_owned()
    }
}
