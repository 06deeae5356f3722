//! The ways in which a pod takes part in the mesh.

/// How a pod takes part in the mesh.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dataplane {
    /// Istio's sidecar in the pod.
    Sidecar,
    /// A gateway or a proxyless template: an agent, but no capture.
    Uncaptured,
    /// Istio's ambient mode.
    Ambient,
    /// The sidecar of a mesh that is not Istio.
    Other,
    /// Not in a mesh.
    None,
    /// The tree does not say.
    Unknown,
}

impl Dataplane {
    /// Returns the word used in every output format.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sidecar | Self::Other => "sidecar",
            Self::Uncaptured => "uncaptured",
            Self::Ambient => "ambient",
            Self::None => "none",
            Self::Unknown => "unknown",
        }
    }

    /// Returns whether an agent answers rewritten probes.
    #[must_use]
    pub const fn has_agent(self) -> bool {
        matches!(self, Self::Sidecar | Self::Uncaptured)
    }
}
