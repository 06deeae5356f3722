//! Escapes texts of manifests for terminals, for the logs of CI systems, and for Markdown in editors.

use std::borrow::Cow;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC};

/// The characters that a path in a URI encodes: all that may have a special meaning, such as a colon.
pub const URI_PATH: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~')
    .remove(b'/');

/// Escapes every character that can control a terminal, change the text direction, or is invisible, as `\u{…}`. Line breaks
/// and tabs become spaces.
#[must_use]
pub fn escape_control(text: &str) -> Cow<'_, str> {
    escape_others(text, is_harmless)
}

/// Escapes the same characters as [`escape_control`], and keeps line breaks and tabs.
pub(super) fn escape_control_in_lines(text: &str) -> Cow<'_, str> {
    escape_others(text, |c| is_harmless(c) || matches!(c, '\n' | '\t' | '\r'))
}

fn escape_others(text: &str, is_kept: impl Fn(char) -> bool) -> Cow<'_, str> {
    if text.chars().all(&is_kept) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match is_kept(c) {
            true => out.push(c),
            false => push_escaped_control(&mut out, c),
        }
    }
    Cow::Owned(out)
}

/// Escapes the characters that [`escape_control`] escapes, and the `#` of commands of CI systems, in a JSON text.
#[must_use]
pub fn json_safe(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let mut rest = json.chars();
    while let Some(c) = rest.next() {
        if c == '#' && starts_command(rest.as_str()) {
            out.push_str("\\u0023");
        } else if is_harmless(c) || c == '\n' {
            out.push(c);
        } else {
            // These characters only occur in strings.
            for unit in c.encode_utf16(&mut [0; 2]) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    out
}

/// The text after `##` in a command of GitHub Actions, Azure Pipelines or TeamCity.
const COMMANDS: [&str; 3] = ["[", "vso[", "teamcity["];

/// Returns whether `#` followed by `rest` is the start of a command of a CI system.
pub(super) fn starts_command(rest: &str) -> bool {
    let Some(rest) = rest.strip_prefix('#') else {
        return false;
    };
    COMMANDS.iter().any(|command| {
        let start = rest.get(..command.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(command))
    })
}

/// Appends a character, escaped if necessary.
pub(super) fn push_escaped_control(out: &mut String, c: char) {
    match c {
        '\n' | '\t' | '\r' => out.push(' '),
        c if is_harmless(c) => out.push(c),
        c => out.extend(c.escape_unicode()),
    }
}

fn is_harmless(c: char) -> bool {
    !c.is_control() && !is_bidirectional(c) && !is_invisible(c)
}

/// Returns whether a character changes the text direction, so that a line is displayed in another order than it is read
/// ("Trojan Source").
const fn is_bidirectional(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Returns whether a character is invisible, or ends a line in some programs: the line separators, and the characters with
/// the Unicode property `Default_Ignorable_Code_Point` (soft hyphens, joiners, fillers, variation selectors, tags).
/// Source: Unicode 16.0, `DerivedCoreProperties.txt`.
const fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{ad}' | '\u{34f}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200d}' | '\u{2028}'..='\u{2029}'
            | '\u{2060}'..='\u{2065}' | '\u{206a}'..='\u{206f}' | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'
    )
}

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

/// Converts a message to Markdown with few escapes. Text between backticks is code, and all other text is plain. If the
/// number of backticks is odd because of a value from a manifest, the whole message is plain.
#[must_use]
pub fn inline_markdown(text: &str) -> String {
    let text = escape_control(text);
    let parts: Vec<&str> = text.split('`').collect();
    // An even number of backticks yields an odd number of parts.
    if parts.len().is_multiple_of(2) {
        return plain(&text);
    }
    let texts = parts.iter().enumerate().map(|(number, part)| {
        if number % 2 == 0 {
            plain(part)
        } else {
            code_span(part)
        }
    });
    texts.collect()
}

/// Returns a text as code. A value with backticks is delimited by more of them.
#[must_use]
pub fn code_span(text: &str) -> String {
    let text = escape_control(text);
    let fence = backticks(&text, 1);
    let space = if text.is_empty() || text.starts_with('`') || text.ends_with('`') {
        " "
    } else {
        ""
    };
    format!("{fence}{space}{text}{space}{fence}")
}

/// Returns a text as a fenced block of a language. A text with backticks is delimited by more of them, so that no line of
/// it ends the block. Control characters are kept, because a program may read the block.
#[must_use]
pub fn fenced_block(language: &str, text: &str) -> String {
    let fence = backticks(text, 3);
    let line_break = if text.ends_with('\n') { "" } else { "\n" };
    format!("{fence}{language}\n{text}{line_break}{fence}\n")
}

/// Returns more backticks than any run of them in a text, and at least `least`.
fn backticks(text: &str, least: usize) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max();
    "`".repeat(least.max(longest.unwrap_or_default() + 1))
}

/// Escapes the characters that start markup within a line, and the links that editors recognize.
fn plain(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        let starts_markup = matches!(
            c,
            '\\' | '`' | '*' | '_' | '[' | ']' | '<' | '>' | '&' | '~' | '|'
        );
        if starts_markup || c == ':' && rest.as_str().starts_with("//") {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(escape_control("a\u{1b}[31mb"), "a\\u{1b}[31mb");
        assert_eq!(escape_control("a\nb\u{9b}\u{202e}"), "a b\\u{9b}\\u{202e}");
        assert_eq!(
            escape_control("\u{61c}\u{200b}\u{2028}"),
            "\\u{61c}\\u{200b}\\u{2028}"
        );
        assert_eq!(
            escape_control("\u{ad}\u{fe0f}\u{200d}\u{e0041}"),
            "\\u{ad}\\u{fe0f}\\u{200d}\\u{e0041}"
        );
        assert_eq!(json_safe("\"\u{e0041}\""), "\"\\udb40\\udc41\"");
        assert_eq!(json_safe("\"##[x] ## y\""), "\"\\u0023#[x] ## y\"");
        assert!(matches!(escape_control("größe…"), Cow::Borrowed(_)));
        assert_eq!(escape_control_in_lines("a\n\tb\u{7}"), "a\n\tb\\u{7}");
        assert_eq!(
            json_safe("{\"a\u{9b}\u{7f}\": 1}\n"),
            "{\"a\\u009b\\u007f\": 1}\n"
        );
    }

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

    #[test]
    fn text_of_a_manifest_contains_no_markup() {
        for (text, markdown) in [
            ("port 80 of `a*b`", "port 80 of `a*b`"),
            ("<img> [x](y)", "\\<img\\> \\[x\\](y)"),
            ("odd ` one", "odd \\` one"),
            ("see https://x", "see https\\://x"),
            ("a\nb", "a b"),
            ("empty ``", "empty `  `"),
        ] {
            assert_eq!(inline_markdown(text), markdown, "{text:?}");
        }
        assert_eq!(code_span("a`b``c"), "```a`b``c```");
        assert_eq!(code_span("`"), "`` ` ``");
    }

    #[test]
    fn text_of_a_manifest_does_not_end_a_block() {
        for (text, block) in [
            ("+a\n", "```diff\n+a\n```\n"),
            ("+a", "```diff\n+a\n```\n"),
            ("x\n ```\n x\n", "````diff\nx\n ```\n x\n````\n"),
            ("a\r`````\r", "``````diff\na\r`````\r\n``````\n"),
        ] {
            assert_eq!(fenced_block("diff", text), block);
        }
    }
}
