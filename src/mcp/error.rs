//! Errors of tools, which assistants read.

use super::clean::clean_line;

/// The longest message in bytes.
const LONGEST: usize = 2000;

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
            Some((message, help)) => (message, Some(help.to_owned())),
            None => (text, None),
        };
        let message = message.strip_prefix("error: ").unwrap_or(message);
        Self {
            message: message.to_owned(),
            help,
        }
    }

    /// Returns the text in the shape of errors of the command line.
    pub(super) fn text(&self) -> String {
        let message = clean_line(&self.message, LONGEST);
        match &self.help {
            Some(help) => format!("error: {message}\nhelp: {}", clean_line(help, LONGEST)),
            None => format!("error: {message}"),
        }
    }
}
