//! How certain a fact, an outcome or a finding is.

/// The certainty of a fact or verdict. A verdict is as certain as the least certain fact that decides it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Certainty {
    /// Nothing determines the value.
    Unknown,
    /// The value comes from an option or a convention, not from the tree.
    Assumed,
    /// The documented default of the release.
    Default,
    /// Written in the tree.
    Known,
}

impl Certainty {
    /// Returns the word used in every output format.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Assumed => "assumed",
            Self::Default => "default",
            Self::Known => "known",
        }
    }
}
