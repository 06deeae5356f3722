//! Escapes commands of CI systems in text that is written to their logs.

use std::borrow::Cow;

use super::escape::starts_command;

/// The start of a command of GitHub Actions, at the start of a line or after white space. `##[`, `##vso[` of Azure
/// Pipelines and `##teamcity[` are commands anywhere in a line.
/// Sources: actions/runner, `src/Runner.Common/ActionCommand.cs`; Azure Pipelines agent,
/// `src/Microsoft.VisualStudio.Services.Agent/Command.cs`; TeamCity, "Service Messages".
const AT_START: &str = "::";

/// The characters that end a line for these systems.
const LINE_ENDS: [char; 2] = ['\n', '\r'];

/// Escapes commands of CI systems: replaces the first character of each command with `\u{…}`, like a control character.
#[must_use]
pub fn escape_commands(text: &str) -> Cow<'_, str> {
    if !text.split(LINE_ENDS).any(is_command) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for line in text.split_inclusive(LINE_ENDS) {
        push_escaped(&mut out, line);
    }
    Cow::Owned(out)
}

/// Escapes the commands that can be anywhere in a line. Commands at the start of a line are kept, because meshprobe writes
/// workflow commands itself.
pub(super) fn escape_inline_commands(text: &str) -> Cow<'_, str> {
    if !has_mark(text) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    push_escaped_inline_commands(&mut out, text);
    Cow::Owned(out)
}

fn is_command(line: &str) -> bool {
    line.trim_start().starts_with(AT_START) || has_mark(line)
}

fn has_mark(text: &str) -> bool {
    text.match_indices('#')
        .any(|(at, _)| text.get(at + 1..).is_some_and(starts_command))
}

fn push_escaped(out: &mut String, line: &str) {
    let start = line.trim_start();
    out.push_str(line.get(..line.len() - start.len()).unwrap_or_default());
    let mut rest = start.chars();
    if start.starts_with(AT_START) {
        out.extend(rest.next().map(char::escape_unicode).into_iter().flatten());
    }
    push_escaped_inline_commands(out, rest.as_str());
}

fn push_escaped_inline_commands(out: &mut String, text: &str) {
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        if c == '#' && starts_command(rest.as_str()) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_escaped() {
        for (text, shown) in [
            ("::error::x", "\\u{3a}:error::x"),
            (" \u{3000}::error::x\n", " \u{3000}\\u{3a}:error::x\n"),
            ("a ##[group]b", "a \\u{23}#[group]b"),
            ("a ##VSO[x]\n##[y]\n", "a \\u{23}#VSO[x]\n\\u{23}#[y]\n"),
            ("::a ##[b", "\\u{3a}:a \\u{23}#[b"),
            ("###[b", "#\\u{23}#[b"),
            ("##teamcity[a]", "\\u{23}#teamcity[a]"),
            ("a\r::error::b\r\n::c", "a\r\\u{3a}:error::b\r\n\\u{3a}:c"),
        ] {
            assert_eq!(escape_commands(text), shown);
        }
        assert_eq!(escape_inline_commands("::a::##[b]"), "::a::\\u{23}#[b]");
        for harmless in ["a::b", "##", "# [a]", "a: ::b\n"] {
            assert!(matches!(escape_commands(harmless), Cow::Borrowed(_)));
        }
    }
}
