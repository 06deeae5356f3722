//! Prints errors and diffs, and writes changed files.

use meshprobe_engine::engine::{Changed, Exit, WriteFailure, write_all};
use meshprobe_report::{self as report, TerminalStyle, escape_control};

use super::session::Session;
use super::stop::Stop;

impl Stop {
    /// Prints the errors, and returns the exit code.
    pub(super) fn report(self, session: &Session) -> Exit {
        match self {
            Self::ClosedPipe => Exit::Success,
            Self::Arguments(error) => {
                let plain = error.render().to_string();
                if plain.lines().any(|line| escape_control(line) != line)
                    || session.for_log(&plain) != plain
                {
                    // clap quotes arguments, and a file name may have been passed as an option.
                    plain.lines().for_each(|line| session.errln(line));
                } else if session.is_process() {
                    // clap chooses the colours. If the stream is closed, the failure cannot be reported anywhere.
                    let _ = error.print();
                } else if error.use_stderr() {
                    session.eprint(&plain);
                } else {
                    let _ = session.print_text(&plain);
                }
                if error.use_stderr() {
                    Exit::Failure
                } else {
                    Exit::Success
                }
            }
            Self::Usage(messages) => {
                for message in messages {
                    session.errln(&format!("error: {message}"));
                }
                Exit::Failure
            }
            Self::UsageWithHelp(message, help) => {
                session.errln(&format!("error: {message}"));
                session.errln(&format!("help: {help}"));
                Exit::Failure
            }
        }
    }
}

/// Writes changed files. Prints an error for each file that cannot be written, and returns these.
pub(super) fn write(session: &Session, changed: &[Changed]) -> Vec<WriteFailure> {
    let failures = write_all(changed);
    report_failures(session, &failures);
    failures
}

/// Prints an error for each file that could not be written.
pub(super) fn report_failures(session: &Session, failures: &[WriteFailure]) {
    for failure in failures {
        let (path, reason) = (&failure.path, &failure.reason);
        session.errln(&format!("error: cannot write `{path}`: {reason}"));
    }
}

/// Prints the changes of files as diffs.
pub(super) fn print_diffs(
    session: &Session,
    changed: &[Changed],
    style: TerminalStyle,
) -> Result<(), Stop> {
    for file in changed {
        session.print_text(&report::diff(file, style))?;
    }
    Ok(())
}
