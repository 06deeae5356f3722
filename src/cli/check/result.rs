//! The result of a run: its exit code, and what no report contains.

use crate::engine::{Exit, Outcome, failing};
use crate::report::{self, TerminalStyle};
use crate::settings::Settings;

use super::super::args::CheckArgs;
use super::super::input::Run;
use super::super::session::{OutputStream, Session};
use super::super::terminal::terminal_style;

/// Prints to standard error what is not judged, for runs that print no report.
pub(super) fn report_not_judged(session: &Session, args: &CheckArgs, outcome: &Outcome) {
    let message = report::not_judged_message(outcome);
    if !args.common.quiet && !message.is_empty() {
        session.errln(&message);
    }
}

/// Returns whether required workloads are missing, and reports it: findings do not explain the exit code of such a run.
pub(super) fn lacks_workloads(session: &Session, args: &CheckArgs, outcome: &Outcome) -> bool {
    let lacks_workloads = args.report.require_workloads && outcome.summary.judges_nothing();
    if lacks_workloads {
        session.errln(
            "error: the files contain no workload that can be judged, but `--require-workloads` requires one",
        );
    }
    lacks_workloads
}

/// Returns the exit code of a run that reports findings.
pub(super) fn exit(
    session: &Session,
    run: &Run,
    outcome: &Outcome,
    args: &CheckArgs,
    settings: &Settings,
) -> Exit {
    run.exit()
        .or(failing(&outcome.findings, settings.fail_on), Exit::Findings)
        .or(lacks_workloads(session, args, outcome), Exit::Findings)
}

/// Returns the style of a report on standard output.
pub(super) fn style_of_stdout(session: &Session, args: &CheckArgs) -> TerminalStyle {
    terminal_style(session, OutputStream::Stdout, args.common.color)
}
