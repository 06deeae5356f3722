//! Builds a verdict from the facts that it depends on.

use meshprobe_mesh::finding::Certainty;
use meshprobe_mesh::mesh::{Fact, Reason};

use crate::predict::cause::Cause;
use crate::predict::outcome::Outcome;
use crate::predict::prediction::Verdict;

/// Returns the value of a verdict that is not decided yet.
pub(in crate::predict) const fn undecided() -> Verdict {
    Verdict {
        outcome: Outcome::Unknown,
        cause: Cause::MeshUnknown,
        certainty: Certainty::Unknown,
        because: Vec::new(),
        kubelet: None,
    }
}

/// Builds a verdict and collects the facts that it depends on.
#[derive(Clone)]
pub(in crate::predict) struct VerdictBuilder {
    certainty: Certainty,
    because: Vec<Reason>,
}

impl VerdictBuilder {
    pub(in crate::predict) const fn new() -> Self {
        Self {
            certainty: Certainty::Known,
            because: Vec::new(),
        }
    }

    /// Adds a fact that the verdict depends on.
    pub(in crate::predict) fn depends_on<T>(&mut self, fact: &Fact<T>) {
        self.certainty = self.certainty.min(fact.certainty);
        for reason in &fact.because {
            if !self.because.contains(reason) {
                self.because.push(reason.clone());
            }
        }
    }

    /// Returns the verdict, with the certainty of the least certain fact.
    pub(in crate::predict) fn verdict(self, outcome: Outcome, cause: Cause) -> Verdict {
        let Self { certainty, because } = self;
        Verdict {
            outcome,
            cause,
            certainty,
            because,
            kubelet: None,
        }
    }
}
