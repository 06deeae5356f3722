//! What the ways to run the command share.

use meshprobe_mesh::settings::Settings;

use super::super::args::CheckArgs;
use super::super::baseline::Known;
use super::super::input::Run;
use super::super::session::{OutputStream, Session};
use super::super::terminal::terminal_style;
use crate::engine::{Exit, Outcome, failing};
use crate::report::{self, TerminalStyle};

/// A run of the command: its options, settings and files, and the findings that are known.
#[derive(Clone, Copy)]
pub(super) struct Invocation<'a> {
    pub(super) session: &'a Session,
    pub(super) run: &'a Run,
    pub(super) args: &'a CheckArgs,
    pub(super) settings: &'a Settings,
    pub(super) known: &'a Known,
}

impl Invocation<'_> {
    /// Prints to standard error what is not judged, for runs that print no report.
    pub(super) fn report_not_judged(self, outcome: &Outcome) {
        let message = report::not_judged_message(outcome);
        if !self.args.common.quiet && !message.is_empty() {
            self.session.errln(&message);
        }
    }

    /// Returns whether required verdicts are missing, and reports it: findings do not explain the exit code of such a run.
    pub(super) fn lacks_verdicts(self, outcome: &Outcome) -> bool {
        let missing = report::missing_verdicts(outcome, self.settings.required);
        if let Some(missing) = &missing {
            self.session.errln(&format!("error: {missing}"));
        }
        missing.is_some()
    }

    /// Returns the exit code of a run that reports findings.
    pub(super) fn exit(self, outcome: &Outcome) -> Exit {
        let has_findings = failing(&outcome.findings, self.settings.fail_on);
        self.run
            .exit()
            .or(has_findings, Exit::Findings)
            .or(self.lacks_verdicts(outcome), Exit::Findings)
    }

    /// Returns the style of a report on standard output.
    pub(super) fn style_of_stdout(self) -> TerminalStyle {
        terminal_style(self.session, OutputStream::Stdout, self.args.common.color)
    }
}
