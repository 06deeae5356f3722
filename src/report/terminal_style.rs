//! The style of text for people.

use meshprobe_mesh::finding::Severity;

/// The capabilities of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TerminalStyle {
    /// The width in columns.
    pub width: usize,
    /// The output is a terminal, and not a pipe or a file.
    pub terminal: bool,
    /// Colours are used.
    pub color: bool,
    /// Lines are drawn with Unicode characters. They are not used in pipes and files, because logs and old consoles
    /// display them incorrectly.
    pub unicode: bool,
}

impl TerminalStyle {
    /// Plain text for pipes and files.
    pub const PLAIN: Self = Self {
        width: 120,
        terminal: false,
        color: false,
        unicode: false,
    };

    /// Returns the text in the colour of `tone` if colours are used.
    #[must_use]
    pub fn paint(self, tone: Tone, text: &str) -> String {
        if self.color {
            format!("\u{1b}[{}m{text}\u{1b}[0m", tone.code())
        } else {
            text.to_owned()
        }
    }
}

/// The meaning of a part of the text, which determines its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// An error.
    Error,
    /// A warning.
    Warning,
    /// A note or a hint.
    Note,
    /// A success.
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
