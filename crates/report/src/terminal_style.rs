//! The style of text for people, its line breaks and lists.

use std::sync::Arc;

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

/// Wraps `text` at spaces so that lines are at most `width` wide, unless a word is longer. The first line starts with
/// `first`, all others with `hang` spaces. Words are not broken, so that paths and commands can be copied.
#[must_use]
pub fn wrap(text: &str, first: &str, hang: usize, width: usize) -> String {
    let mut out = String::with_capacity(text.len() + 32);
    out.push_str(first);
    let mut column = printed_width(first);
    let mut is_first = true;
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let length = word.chars().count();
        if !is_first && column + 1 + length > width {
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', hang));
            column = hang;
        } else if !is_first {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += length;
        is_first = false;
    }
    out
}

/// Wraps `text` like [`wrap`], and adds `note` to its last line, or on a line of its own if it does not fit.
pub(super) fn wrap_with_note(
    text: &str,
    note: &str,
    first: &str,
    hang: usize,
    width: usize,
) -> String {
    let mut out = wrap(text, first, hang, width);
    if note.is_empty() {
        return out;
    }
    let column = out.lines().last().map_or(0, printed_width);
    let length = printed_width(note);
    if column + 1 + length <= width {
        out.push(' ');
        out.push_str(note);
    } else {
        out.push('\n');
        out.push_str(&wrap(note, &" ".repeat(hang), hang, width));
    }
    out
}

/// Returns the width of a text in columns, without escape sequences for colours.
pub(super) fn printed_width(text: &str) -> usize {
    let mut width = 0;
    let mut inside = false;
    for c in text.chars() {
        match c {
            '\u{1b}' => inside = true,
            'm' if inside => inside = false,
            _ if !inside => width += 1,
            _ => {}
        }
    }
    width
}

/// Returns the colour of an outcome.
pub(super) fn outcome_tone(outcome: &str) -> Tone {
    match outcome {
        "ok" => Tone::Good,
        "fails" | "always-passes" | "target-changed" | "refused" | "broken-without-mesh" => {
            Tone::Error
        }
        "unknown" => Tone::Warning,
        _ => Tone::Faint,
    }
}

/// Returns names as one text, such as `prod-eu, prod-us`. A long list is cut.
pub(super) fn name_list(names: &[Arc<str>]) -> String {
    meshprobe_mesh::finding::name_list(names.iter().map(|name| &**name))
}

/// Returns names in parentheses: `(in: prod-eu, prod-us)`. Returns an empty text for no names.
pub(super) fn in_note(names: &[Arc<str>]) -> String {
    if names.is_empty() {
        return String::new();
    }
    format!("(in: {})", name_list(names))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_wrapped_at_spaces() {
        assert_eq!(wrap("aa bb cc", "x: ", 2, 8), "x: aa bb\n  cc");
        assert_eq!(wrap("a-very-long-word b", "", 1, 5), "a-very-long-word\n b");
        assert_eq!(printed_width("\u{1b}[1;31mab\u{1b}[0m"), 2);
    }
}
