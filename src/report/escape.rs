//! Keeps control characters of manifests away from terminals.

use std::borrow::Cow;

/// Returns the text with every character that could steer a terminal, or turn the direction of
/// writing, shown as `\u{…}`. Line breaks and tabs become blanks.
#[must_use]
pub fn visible(text: &str) -> Cow<'_, str> {
    if text.chars().all(is_harmless) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        push_visible(&mut out, c);
    }
    Cow::Owned(out)
}

/// Like [`visible`], but keeps line breaks and tabs: for whole texts.
pub(super) fn visible_lines(text: &str) -> Cow<'_, str> {
    let keep = |c: char| is_harmless(c) || matches!(c, '\n' | '\t' | '\r');
    if text.chars().all(keep) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        if keep(c) {
            out.push(c);
        } else {
            push_visible(&mut out, c);
        }
    }
    Cow::Owned(out)
}

/// Returns JSON with the characters escaped that JSON itself would let through, and with the `#` of what CI systems
/// take for a command wherever it is in a line.
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
            // Only ever inside of strings.
            for unit in c.encode_utf16(&mut [0; 2]) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    out
}

/// What follows `##` in a command of GitHub Actions, Azure Pipelines or TeamCity.
const COMMANDS: [&str; 3] = ["[", "vso[", "teamcity["];

/// Returns whether `#` before a text makes it a command of a CI system.
pub(super) fn starts_command(rest: &str) -> bool {
    let Some(rest) = rest.strip_prefix('#') else {
        return false;
    };
    COMMANDS.iter().any(|command| {
        let start = rest.get(..command.len());
        start.is_some_and(|start| start.eq_ignore_ascii_case(command))
    })
}

pub(super) fn push_visible(out: &mut String, c: char) {
    match c {
        '\n' | '\t' | '\r' => out.push(' '),
        c if is_harmless(c) => out.push(c),
        c => out.extend(c.escape_unicode()),
    }
}

fn is_harmless(c: char) -> bool {
    !c.is_control() && !is_bidirectional(c) && !is_unseen(c)
}

/// The characters behind "Trojan Source": they show a line in another order than it is read.
const fn is_bidirectional(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// What takes no room, and what some programs end a line at: the line separators, and what the
/// Unicode property `Default_Ignorable_Code_Point` names (soft hyphens, joiners, fillers, variation
/// selectors, tags). Source: Unicode 16.0, `DerivedCoreProperties.txt`.
const fn is_unseen(c: char) -> bool {
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
    fn control_characters_are_shown() {
        assert_eq!(visible("a\u{1b}[31mb"), "a\\u{1b}[31mb");
        assert_eq!(visible("a\nb\u{9b}\u{202e}"), "a b\\u{9b}\\u{202e}");
        assert_eq!(
            visible("\u{61c}\u{200b}\u{2028}"),
            "\\u{61c}\\u{200b}\\u{2028}"
        );
        assert_eq!(
            visible("\u{ad}\u{fe0f}\u{200d}\u{e0041}"),
            "\\u{ad}\\u{fe0f}\\u{200d}\\u{e0041}"
        );
        assert_eq!(json_safe("\"\u{e0041}\""), "\"\\udb40\\udc41\"");
        assert_eq!(json_safe("\"##[x] ## y\""), "\"\\u0023#[x] ## y\"");
        assert!(matches!(visible("größe…"), Cow::Borrowed(_)));
        assert_eq!(visible_lines("a\n\tb\u{7}"), "a\n\tb\\u{7}");
        assert_eq!(
            json_safe("{\"a\u{9b}\u{7f}\": 1}\n"),
            "{\"a\\u009b\\u007f\": 1}\n"
        );
    }
}
