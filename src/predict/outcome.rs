//! What the kubelet meets.

/// What the kubelet meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// The probe tells the truth.
    Ok,
    /// The probe fails although the application is up.
    Fails,
    /// The probe can never fail.
    AlwaysPasses,
    /// The probe now tests something else.
    TargetChanged,
    /// The manifest is at fault, with or without a mesh.
    BrokenWithoutMesh,
    /// The pod is in no mesh.
    NotInMesh,
    /// No static tool can know.
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
            Self::BrokenWithoutMesh => "broken-without-mesh",
            Self::NotInMesh => "not-in-mesh",
            Self::Unknown => "unknown",
        }
    }

    /// Tells whether the mesh spoils the probe.
    #[must_use]
    pub const fn is_bad(self) -> bool {
        matches!(self, Self::Fails | Self::AlwaysPasses | Self::TargetChanged)
    }
}
