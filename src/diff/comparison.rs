//! The result of a comparison.

use meshprobe_predict::context::NotJudged;

use super::change::Change;
use super::class::Class;

/// What differs between two states.
#[derive(Clone, Debug, Default)]
pub struct Comparison {
    /// The changes, sorted by class and place.
    pub changes: Vec<Change>,
    /// The number of handlers with the same prediction in both states.
    pub unchanged: usize,
    /// The number of handlers with the same prediction whose container, object or namespace is renamed.
    pub renamed: usize,
    /// The number of handlers with the same prediction and with a fault.
    pub unchanged_faults: usize,
    /// The number of findings that both states have and that are not about a handler.
    pub unchanged_findings: usize,
    /// The number of handlers that get worse, or are new with a fault, and whose findings the user has suppressed.
    pub suppressed: usize,
    /// The number of new handlers without a fault.
    pub added_without_fault: usize,
    /// What is not judged in the second state and was judged, or did not exist, in the first.
    pub newly_not_judged: Vec<NotJudged>,
    /// What is judged in neither state although its files differ.
    pub changed_not_judged: Vec<NotJudged>,
    /// What the user must know to read the result, such as a fact that no workload reads.
    pub notes: Vec<String>,
}

impl Comparison {
    /// Returns whether parts that are not judged may hide changes.
    #[must_use]
    pub const fn leaves_something_out(&self) -> bool {
        !self.newly_not_judged.is_empty() || !self.changed_not_judged.is_empty()
    }

    /// Returns whether a change of this class exists.
    #[must_use]
    pub fn has(&self, class: Class) -> bool {
        self.changes.iter().any(|change| change.class == class)
    }
}
