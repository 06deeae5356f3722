//! One change between two states.

use meshprobe_mesh::finding::{Finding, Label};

use super::cause::Cause;
use super::class::Class;
use super::probe_state::ProbeState;

/// What a change is about.
#[derive(Clone, Debug)]
pub enum Subject {
    /// A handler, in one or both states.
    Probe {
        /// The prediction before; `None` if the handler is new.
        before: Option<Box<ProbeState>>,
        /// The prediction after; `None` if the handler does not exist any more.
        after: Option<Box<ProbeState>>,
    },
    /// A finding of `check` that only the second state has.
    NewFinding(Box<Finding>),
    /// A finding of `check` that only the first state has.
    GoneFinding(Box<Finding>),
}

/// One change between two states.
#[derive(Clone, Debug)]
pub struct Change {
    /// Its class.
    pub class: Class,
    /// What it is about.
    pub subject: Subject,
    /// The line or the fact that causes it, if one was found.
    pub cause: Option<Cause>,
    /// What still contains a handler that an environment does not deploy any more, such as "`staging` deploys it"; `None`
    /// for all other changes.
    pub remains: Option<String>,
}

impl Change {
    /// Returns the prediction before and after; both are `None` for a finding.
    #[must_use]
    pub fn probe_states(&self) -> (Option<&ProbeState>, Option<&ProbeState>) {
        match &self.subject {
            Subject::Probe { before, after } => (before.as_deref(), after.as_deref()),
            Subject::NewFinding(_) | Subject::GoneFinding(_) => (None, None),
        }
    }

    /// Returns the prediction of the newest state that has the handler; `None` for a finding.
    #[must_use]
    pub fn probe(&self) -> Option<&ProbeState> {
        let (before, after) = self.probe_states();
        after.or(before)
    }

    /// Returns the finding; `None` for a handler.
    #[must_use]
    pub fn finding(&self) -> Option<&Finding> {
        match &self.subject {
            Subject::NewFinding(finding) | Subject::GoneFinding(finding) => Some(finding),
            Subject::Probe { .. } => None,
        }
    }

    /// Returns the place of the handler or the finding.
    #[must_use]
    pub fn place(&self) -> Option<&Label> {
        let probe = self.probe().map(|probe| &probe.place);
        probe.or_else(|| self.finding().map(|finding| &finding.primary))
    }

    /// Returns whether the place is in the first state, because the second does not have it.
    #[must_use]
    pub const fn is_gone(&self) -> bool {
        match &self.subject {
            Subject::Probe { after, .. } => after.is_none(),
            Subject::NewFinding(_) => false,
            Subject::GoneFinding(_) => true,
        }
    }
}
