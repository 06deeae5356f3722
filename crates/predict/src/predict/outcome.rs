//! The outcomes of a prediction.

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
