//! The function that runs a command of the program, and the texts of its errors.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use meshprobe_report::{Reader, Report, escape_control};

/// The longest message in bytes.
const LONGEST_ERROR: usize = 2000;

/// A call that cannot be answered, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ToolError {
    message: String,
    help: Option<String>,
}

impl ToolError {
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            help: None,
        }
    }

    /// Adds what to do.
    pub(super) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Returns the message of a command that failed.
    pub(super) fn of_command(stderr: &str) -> Self {
        let text = stderr.trim();
        let (message, help) = match text.split_once("\nhelp: ") {
            Some((message, help)) => (message, Some(help)),
            None => (text, None),
        };
        let message = message.strip_prefix("error: ").unwrap_or(message);
        Self {
            message: Reader::Assistant.message(message),
            help: help.and_then(|help| Reader::Assistant.help(help)),
        }
    }

    /// Returns the text in the shape of errors of the command line.
    pub(super) fn text(&self) -> String {
        let message = clean_line(&self.message, LONGEST_ERROR);
        match &self.help {
            Some(help) => format!(
                "error: {message}\nhelp: {}",
                clean_line(help, LONGEST_ERROR)
            ),
            None => format!("error: {message}"),
        }
    }
}

/// The longest text of one field in bytes.
const LONGEST_TEXT: usize = 400;

/// The longest list of texts in an item.
const MOST: usize = 10;

/// Returns a text on one line: control characters are escaped as in other reports, and a long text is shortened.
pub(super) fn clean(text: &str) -> String {
    clean_line(text, LONGEST_TEXT)
}

/// Returns a text on one line of at most about `longest` bytes.
pub(super) fn clean_line(text: &str, longest: usize) -> String {
    let escaped = escape_control(text);
    if escaped.len() <= longest {
        return escaped.into_owned();
    }
    let end = escaped.floor_char_boundary(longest);
    format!("{}…", escaped.get(..end).unwrap_or_default())
}

/// Returns the texts of a list, cleaned. Of a long list, the last text is the number of those that are left out.
pub(super) fn clean_all(texts: &[String]) -> Vec<String> {
    let mut cleaned: Vec<String> = texts.iter().take(MOST).map(|text| clean(text)).collect();
    if let Some(more) = texts.len().checked_sub(MOST).filter(|more| *more > 0) {
        cleaned.push(format!("{more} more"));
    }
    cleaned
}

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
