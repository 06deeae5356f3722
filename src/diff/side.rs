//! The two states of a comparison.

/// The state that contains a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// Only the first state has it.
    Before,
    /// The second state.
    After,
}

impl Side {
    /// Returns the other state.
    pub(super) const fn other(self) -> Self {
        match self {
            Self::Before => Self::After,
            Self::After => Self::Before,
        }
    }
}
