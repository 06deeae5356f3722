//! The input and the result of a call.

use crate::engine::Exit;
use crate::report::escape_control;

/// The result of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The text for standard output; `None` if the call fails.
    pub output: Option<String>,
    /// The text for standard error, one line per message.
    pub messages: String,
    /// The exit code.
    pub exit: Exit,
}

impl Answer {
    pub(super) fn failure(messages: &[String]) -> Self {
        Self {
            output: None,
            messages: messages
                .iter()
                .map(|message| format!("error: {}\n", escape_control(message)))
                .collect(),
            exit: Exit::Failure,
        }
    }
}

/// The configuration file that kustomize passes to a legacy plugin as the first argument.
#[derive(Clone, Copy, Debug)]
pub struct ConfigFile<'a> {
    /// The path, for messages.
    pub name: &'a str,
    /// The content.
    pub bytes: &'a [u8],
}
