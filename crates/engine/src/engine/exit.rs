//! Exit codes.

use meshprobe_mesh::finding::Finding;
use meshprobe_mesh::settings::FailOn;

use meshprobe_rules::rules::notices::INTERNAL_ERROR;

/// The exit code of a run. The highest applicable code is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// No findings; all requested changes were made.
    #[default]
    Success,
    /// Findings at or above the limit, a change shown by `--diff`, a refused pod.
    Findings,
    /// Wrong usage or settings, a named path that cannot be read, a failed write.
    Failure,
}

impl Exit {
    /// Returns the exit code as a number.
    #[must_use]
    pub const fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Findings => 1,
            Self::Failure => 2,
        }
    }

    /// Returns `worse` if it is higher and `condition` is true; this exit code otherwise.
    #[must_use]
    pub fn or(self, condition: bool, worse: Self) -> Self {
        if condition { self.max(worse) } else { self }
    }
}

/// Returns whether a finding makes the run fail. A panic always does, because the findings that it prevented are unknown.
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
    use meshprobe_mesh::finding::{Label, Severity, rule_id};
    use meshprobe_yaml::Span;

    #[test]
    fn findings_at_or_above_the_limit_fail_the_run() {
        let label = Label {
            path: "x".into(),
            span: Span::empty(0),
            message: String::new(),
        };
        let findings = [Finding::new(
            rule_id!("r"),
            Severity::Warning,
            label,
            String::new(),
        )];
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
    fn the_highest_exit_code_is_used() {
        let exit = Exit::Success
            .or(true, Exit::Failure)
            .or(true, Exit::Findings);
        assert_eq!(exit.code(), 2);
        assert_eq!(Exit::Success.or(false, Exit::Failure).code(), 0);
    }
}
