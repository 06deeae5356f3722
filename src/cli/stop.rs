//! Reasons to end a run early.

/// A reason to end a run early.
#[derive(Debug)]
pub(super) enum Stop {
    /// The reader of standard output has closed the pipe.
    ClosedPipe,
    /// Help, version, or wrong arguments.
    Arguments(clap::Error),
    /// Wrong usage or settings: one message per error.
    Usage(Vec<String>),
    /// Wrong usage or settings: the message, and the text of its `help:` line.
    UsageWithHelp(String, String),
}

impl Stop {
    pub(super) fn usage(message: impl Into<String>) -> Self {
        Self::Usage(vec![message.into()])
    }

    /// Returns the messages, joined; empty if there are none.
    pub(super) fn message(&self) -> String {
        match self {
            Self::ClosedPipe => String::new(),
            Self::Arguments(error) => error.to_string(),
            Self::Usage(messages) => messages.join("; "),
            Self::UsageWithHelp(message, _) => message.clone(),
        }
    }

    /// Adds a `help:` line to a single message.
    pub(super) fn help(self, help: impl Into<String>) -> Self {
        match self {
            Self::Usage(mut messages) if messages.len() == 1 => {
                Self::UsageWithHelp(messages.remove(0), help.into())
            }
            other => other,
        }
    }

    /// Adds a `help:` line to a single message, if there is a text for it.
    pub(super) fn help_if_any(self, help: Option<String>) -> Self {
        match help {
            Some(help) => self.help(help),
            None => self,
        }
    }
}

impl From<clap::Error> for Stop {
    fn from(error: clap::Error) -> Self {
        Self::Arguments(error)
    }
}
