//! Why a run ends early, and what is reported about files that cannot be written.

use crate::engine::{Changed, Exit, WriteFailure, write_all};
use crate::report::visible;

use super::session::Session;

/// Why a run ends early.
#[derive(Debug)]
pub(super) enum Stop {
    /// The reader of standard output is gone.
    ClosedPipe,
    /// Help, version, or wrong arguments.
    Arguments(clap::Error),
    /// Wrong usage or settings: what to tell the user.
    Usage(Vec<String>),
}

impl Stop {
    pub(super) fn usage(message: impl Into<String>) -> Self {
        Self::Usage(vec![message.into()])
    }

    /// Tells the user, and returns how the process ends.
    pub(super) fn tell(self, session: &Session) -> Exit {
        match self {
            Self::ClosedPipe => Exit::Success,
            Self::Arguments(error) => {
                let plain = error.render().to_string();
                if plain.lines().any(|line| visible(line) != line)
                    || session.for_log(&plain) != plain
                {
                    // A file name may have been read as an option.
                    plain.lines().for_each(|line| session.errln(line));
                } else if session.is_process() {
                    // With the colors that clap chooses. Where the stream is closed, the failure cannot be
                    // reported anywhere.
                    let _ = error.print();
                } else if error.use_stderr() {
                    session.eprint(&plain);
                } else {
                    let _ = session.print(&plain);
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
        }
    }
}

impl From<clap::Error> for Stop {
    fn from(error: clap::Error) -> Self {
        Self::Arguments(error)
    }
}

/// Writes changed files; tells about those that cannot be written, and returns them.
pub(super) fn write(session: &Session, changed: &[Changed]) -> Vec<WriteFailure> {
    let failures = write_all(changed);
    tell_failures(session, &failures);
    failures
}

/// Tells about files that could not be written.
pub(super) fn tell_failures(session: &Session, failures: &[WriteFailure]) {
    for failure in failures {
        let (path, reason) = (&failure.path, &failure.reason);
        session.errln(&format!("error: cannot write {path}: {reason}"));
    }
}
