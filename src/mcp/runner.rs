//! The function that runs a command of the program.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::report::Report;

/// A command of the program, and what it may read.
#[derive(Clone, Debug)]
pub struct Command {
    /// The arguments, without the name of the program.
    pub arguments: Vec<OsString>,
    /// The text on standard input.
    pub stdin: Vec<u8>,
    /// The working directory, a resolved path.
    pub directory: PathBuf,
    /// The folders that may be read, as resolved paths.
    pub roots: Vec<PathBuf>,
    /// Set as soon as no one waits for the result.
    pub is_stopped: Arc<AtomicBool>,
}

/// The result of a command.
#[derive(Debug)]
pub struct Output {
    /// The exit code: 0, 1 for findings or changes, 2 for a failure.
    pub code: u8,
    /// The report, if the command writes one in JSON.
    pub report: Option<Report>,
    /// The text on standard output, without the report.
    pub stdout: String,
    /// The text on standard error.
    pub stderr: String,
}

/// Runs commands of the program.
pub trait Runner: Send + Sync + 'static {
    /// Runs a command to its end. Reads only files below its roots, and writes none.
    fn run(&self, command: &Command) -> Output;
}
