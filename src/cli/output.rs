//! Writing to the standard streams. A closed pipe is success: whoever read had enough.

use std::io::{self, ErrorKind, Write as _};

use crate::engine::{Changed, Exit, WriteFailure, write_all};
use crate::report::visible;
use crate::source::reason;

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
    pub(super) fn tell(self) -> Exit {
        match self {
            Self::ClosedPipe => Exit::Success,
            Self::Arguments(error) => {
                let plain = error.render().to_string();
                if plain.lines().all(|line| visible(line) == line) {
                    // Help goes to standard output, mistakes to standard error; nothing can be
                    // done where neither can be written.
                    let _ = error.print();
                } else {
                    // A name of a file may be taken for an option.
                    plain.lines().for_each(errln);
                }
                if error.use_stderr() {
                    Exit::Failure
                } else {
                    Exit::Success
                }
            }
            Self::Usage(messages) => {
                for message in messages {
                    errln(&format!("error: {message}"));
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

/// Standard input cannot be read.
pub(super) fn no_stdin(error: &io::Error) -> Stop {
    Stop::usage(format!("cannot read standard input: {}", reason(error)))
}

/// Writes to standard output.
pub(super) fn print(text: &str) -> Result<(), Stop> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Err(Stop::ClosedPipe),
        Err(error) => Err(Stop::usage(format!(
            "cannot write to standard output: {}",
            reason(&error)
        ))),
    }
}

/// Writes a manifest to standard output; tells whether there was one. Never a part of it: the
/// next program would take it for the whole.
pub(super) fn print_whole(text: Option<&str>) -> Result<bool, Stop> {
    print(text.unwrap_or_default())?;
    Ok(text.is_some())
}

/// Writes to standard error, as it is.
pub(super) fn eprint(text: &str) {
    // There is nobody left to tell where standard error is closed.
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// Writes a line to standard error, with control characters made visible.
pub(super) fn errln(line: &str) {
    eprint(&format!("{}\n", visible(line)));
}

/// Writes changed files; tells about those that cannot be written, and returns them.
pub(super) fn write(changed: &[Changed]) -> Vec<WriteFailure> {
    let failures = write_all(changed);
    tell_failures(&failures);
    failures
}

/// Tells about files that could not be written.
pub(super) fn tell_failures(failures: &[WriteFailure]) {
    for failure in failures {
        let (path, reason) = (&failure.path, &failure.reason);
        errln(&format!("error: cannot write {path}: {reason}"));
    }
}
