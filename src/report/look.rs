//! How text for people looks.

use crate::finding::Severity;

/// What the place that text is shown in can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Look {
    /// The width in columns.
    pub width: usize,
    /// Somebody looks at it; else it goes to a pipe or a file.
    pub terminal: bool,
    /// Colours are welcome.
    pub color: bool,
    /// Line drawing beyond ASCII is welcome. It is left out of pipes and files: logs and old
    /// consoles garble it.
    pub unicode: bool,
}

impl Look {
    /// Plain text for pipes and files.
    pub const PLAIN: Self = Self {
        width: 120,
        terminal: false,
        color: false,
        unicode: false,
    };

    /// Returns the text in this tone, if colours are welcome.
    #[must_use]
    pub fn paint(self, tone: Tone, text: &str) -> String {
        if self.color {
            format!("\u{1b}[{}m{text}\u{1b}[0m", tone.code())
        } else {
            text.to_owned()
        }
    }
}

/// What a piece of text means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// An error.
    Error,
    /// A warning.
    Warning,
    /// A note or a hint.
    Note,
    /// Something good.
    Good,
    /// A heading.
    Strong,
    /// Less important.
    Faint,
}

impl Tone {
    const fn code(self) -> &'static str {
        match self {
            Self::Error => "1;31",
            Self::Warning => "1;33",
            Self::Note => "1;36",
            Self::Good => "32",
            Self::Strong => "1",
            Self::Faint => "2",
        }
    }
}

impl From<Severity> for Tone {
    fn from(severity: Severity) -> Self {
        match severity {
            Severity::Error => Self::Error,
            Severity::Warning => Self::Warning,
            Severity::Note => Self::Note,
        }
    }
}
