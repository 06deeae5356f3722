//! Escapes control characters of manifests, so that they do not reach terminals.

use std::borrow::Cow;

/// Escapes every character that can control a terminal, change the text direction, or is invisible, as `\u{…}`. Line breaks
/// and tabs become spaces.
#[must_use]
pub fn escape_control(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_harmless) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        push_escaped_control(&mut out, c);
    }
    Cow::Owned(out)
}

/// Escapes the same characters as [`escape_control`], and keeps line breaks and tabs.
pub(super) fn escape_control_in_lines(text: &str) -> Cow<'_, str> {
    let keep = |c: char| is_harmless(c) || matches!(c, '\n' | '\t' | '\r');
    if text.chars().all(keep) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if keep(c) {
            out.push(c);
        } else {
            push_escaped_control(&mut out, c);
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
}
