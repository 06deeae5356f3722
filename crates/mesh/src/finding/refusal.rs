//! The parts of the message of a refusal.

/// A refusal to rewrite a workload, or to undo its rewrite. The message of the finding consists of both parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// What is not done: `Deployment/web is not rewritten: `.
    pub start: String,
    /// The reason, which continues the sentence.
    pub reason: String,
}

impl Refusal {
    /// Returns the message of the finding.
    #[must_use]
    pub fn message(&self) -> String {
        format!("{}{}", self.start, self.reason)
    }
}
