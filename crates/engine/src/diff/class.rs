//! The two states, the classes of changes between them, and those that make a run fail.

use meshprobe_mesh::settings::RequiredVerdicts;
use meshprobe_predict::predict::Outcome;

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

/// The class of a change. The order is that of reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// The probe or the manifest gets worse.
    Regression,
    /// A new probe has a bad outcome, or a new object a finding.
    Added,
    /// The outcome is as good as before, but differs or has another cause.
    Changed,
    /// The probe or the manifest gets better.
    Improvement,
    /// The probe does not exist any more.
    Removed,
}

impl Class {
    /// All classes, in the order of reports.
    pub const ALL: [Self; 5] = [
        Self::Regression,
        Self::Added,
        Self::Changed,
        Self::Improvement,
        Self::Removed,
    ];

    /// Returns the word used in every output format.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Regression => "regression",
            Self::Added => "added",
            Self::Changed => "changed",
            Self::Improvement => "improvement",
            Self::Removed => "removed",
        }
    }

    /// Returns the class of a change between two different outcomes or causes.
    #[must_use]
    pub(super) fn of(before: Outcome, after: Outcome) -> Self {
        if after == Outcome::Unknown {
            return Self::Changed;
        }
        match rank(after).cmp(&rank(before)) {
            std::cmp::Ordering::Greater if is_fault(after) => Self::Regression,
            std::cmp::Ordering::Less if is_fault(before) => Self::Improvement,
            _ => Self::Changed,
        }
    }
}

/// Returns whether an outcome is a fault: the probe does not work, or the pod does not start.
pub(super) const fn is_fault(outcome: Outcome) -> bool {
    outcome.is_bad() || outcome.is_invalid()
}

/// Returns how bad an outcome is for a running application. A probe that fails restarts pods or takes them out of
/// service, which is worse than a probe that never fails.
const fn rank(outcome: Outcome) -> u8 {
    match outcome {
        Outcome::Ok | Outcome::NotInMesh => 0,
        Outcome::Unknown => 1,
        Outcome::AlwaysPasses | Outcome::TargetChanged => 2,
        Outcome::Fails => 3,
        Outcome::Refused | Outcome::InvalidManifest => 4,
    }
}

/// What makes a run fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FailOn {
    /// The classes of changes.
    pub classes: &'static [Class],
    /// The verdicts without which the run fails.
    pub required: RequiredVerdicts,
}

impl FailOn {
    /// Regressions, and additions with a fault.
    pub const REGRESSION: &'static [Class] = &[Class::Regression, Class::Added];
    /// Those, and removed probes.
    pub const REMOVED: &'static [Class] = &[Class::Regression, Class::Added, Class::Removed];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_worse_fault_is_a_regression() {
        use Outcome::{AlwaysPasses, Fails, NotInMesh, Ok, Refused, Unknown};
        for (before, after, class) in [
            (Ok, Fails, Class::Regression),
            (NotInMesh, AlwaysPasses, Class::Regression),
            (AlwaysPasses, Fails, Class::Regression),
            (Fails, Refused, Class::Regression),
            (Unknown, Fails, Class::Regression),
            (Ok, Unknown, Class::Changed),
            (Unknown, Ok, Class::Changed),
            (Ok, NotInMesh, Class::Changed),
            (Fails, Unknown, Class::Changed),
            (Fails, AlwaysPasses, Class::Improvement),
            (Refused, Ok, Class::Improvement),
            (Fails, Fails, Class::Changed),
        ] {
            assert_eq!(Class::of(before, after), class, "{before:?} {after:?}");
        }
    }
}
