//! What the exit code is: the table of the design as functions.

use crate::finding::Finding;
use crate::settings::FailOn;

use super::notices::INTERNAL_ERROR;

/// The exit code of a run; the greatest of its reasons wins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// Nothing to report; everything was done.
    #[default]
    Success,
    /// Findings at or above the limit, a change shown by `--diff`, a refused pod.
    Findings,
    /// Wrong usage or settings, a named path that cannot be read, a failed write.
    Failure,
}

impl Exit {
    /// Returns the number for the operating system.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Findings => 1,
            Self::Failure => 2,
        }
    }

    /// Returns this exit, or the given one where it is worse and `condition` holds.
    #[must_use]
    pub fn or(self, condition: bool, worse: Self) -> Self {
        if condition { self.max(worse) } else { self }
    }
}

/// Tells whether a finding makes the run fail. A panic does so whatever the limit is, because no one
/// knows what was missed.
#[must_use]
pub fn failing(findings: &[Finding], fail_on: FailOn) -> bool {
    findings.iter().any(|finding| match fail_on {
        _ if finding.rule == INTERNAL_ERROR => true,
        FailOn::Never => false,
        FailOn::Severity(limit) => finding.severity >= limit,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::{Label, Severity};
    use crate::yaml::Span;

    #[test]
    fn the_limit_decides() {
        let label = Label {
            path: "x".into(),
            span: Span::empty(0),
            message: String::new(),
        };
        let findings = [Finding::new("r", Severity::Warning, label, String::new())];
        assert!(failing(&findings, FailOn::default()));
        assert!(failing(&findings, FailOn::Severity(Severity::Note)));
        assert!(!failing(&findings, FailOn::Severity(Severity::Error)));
        assert!(!failing(&findings, FailOn::Never));
        assert!(!failing(&[], FailOn::Severity(Severity::Note)));
        let mut panic = findings;
        panic[0].rule = INTERNAL_ERROR;
        assert!(failing(&panic, FailOn::Never));
    }

    #[test]
    fn the_worst_reason_wins() {
        let exit = Exit::Success
            .or(true, Exit::Failure)
            .or(true, Exit::Findings);
        assert_eq!(exit.code(), 2);
        assert_eq!(Exit::Success.or(false, Exit::Failure).code(), 0);
    }
}
